// YAML that people write: experiments' configurations.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "master/core/model/experiment_config.h"
#include "master/parse/parse.h"

namespace {

using det::model::ExperimentConfig;

void Promise(bool kept, const char* what, std::string_view text) {
  if (kept) return;
  std::cerr << what << "\n" << text << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = det::model::ParseExperimentConfig(text, "c.yaml", {}, {});
  if (!config.ok()) {
    Promise(!config.status().message().empty(), "an error without a message", text);
    return 0;
  }
  const std::string whole = det::model::ToValue(*config).ToJson();
  const auto again = det::model::ParseExperimentConfig(whole, "again", {}, {});
  Promise(again.ok(), again.ok() ? "" : std::string(again.status().message()).c_str(), whole);
  Promise(det::model::ToValue(*again).ToJson() == whole, "what was written reads otherwise", whole);
  return 0;
}
