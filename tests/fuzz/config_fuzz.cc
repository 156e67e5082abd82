// Fuzzes the parser of experiment configurations.
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

void Check(bool condition, const char* message, std::string_view text) {
  if (condition) return;
  std::cerr << message << "\n" << text << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = det::model::ParseExperimentConfig(text, "c.yaml", {}, {});
  if (!config.ok()) {
    Check(!config.status().message().empty(), "an error without a message", text);
    return 0;
  }
  const std::string whole = det::model::ToValue(*config).ToJson();
  const auto again = det::model::ParseExperimentConfig(whole, "again", {}, {});
  Check(again.ok(), again.ok() ? "" : std::string(again.status().message()).c_str(), whole);
  Check(det::model::ToValue(*again).ToJson() == whole,
        "the configuration changed after writing and parsing it", whole);
  return 0;
}
