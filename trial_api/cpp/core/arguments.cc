#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "trial_api/cpp/core/context.h"
#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det {
namespace {

using Json = nlohmann::json;

// Parses NAME=VALUE; a value that is not JSON is a string.
void AddHparam(const std::string& text, Json* hparams) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw Error("--hparam " + text + ": expected NAME=VALUE, for example --hparam lr=0.1");
  }
  const std::string value = text.substr(equals + 1);
  Json parsed = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  (*hparams)[text.substr(0, equals)] = parsed.is_discarded() ? Json(value) : parsed;
}

uint32_t ParseSeed(const std::string& text) {
  uint32_t seed = 0;
  if (!absl::SimpleAtoi(text, &seed)) {
    throw Error("--seed " + text + ": expected an integer from 0 to 4294967295");
  }
  return seed;
}

}  // namespace

Context::OffCluster Context::ParseArguments(int argc, const char* const* argv) {
  OffCluster result;
  Json hparams = Json::object();
  const std::map<std::string, std::function<void(const std::string&)>> flags = {
      {"--config", [&](const std::string& value) { result.config_path = value; }},
      {"--hparam", [&](const std::string& value) { AddHparam(value, &hparams); }},
      {"--checkpoint-dir", [&](const std::string& value) { result.checkpoint_dir = value; }},
      {"--restore", [&](const std::string& value) { result.restore = value; }},
      {"--max-length", [&](const std::string& value) { result.max_length = ParseLength(value); }},
      {"--seed", [&](const std::string& value) { result.seed = ParseSeed(value); }},
  };
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    std::optional<std::string> value;
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    const auto flag = flags.find(name);
    if (flag == flags.end()) {
      throw Error("unknown argument '" + std::string(argv[i]) +
                  "'; expected --config, --hparam, --checkpoint-dir, --restore, --max-length, "
                  "--seed");
    }
    if (!value) {
      if (i + 1 == argc) throw Error(name + " needs a value");
      value = argv[++i];
    }
    flag->second(*value);
  }
  result.hparams_json = hparams.dump();
  return result;
}

}  // namespace det
