#include "trial_api/cpp/core/off_cluster_config.h"

#include <limits>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace det::core {
namespace {

using Json = nlohmann::json;

// Plain scalars follow YAML's core schema; quoted ones are strings.
Json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (int64_t integer = 0; absl::SimpleAtoi(text, &integer)) return integer;
  // "nan" and "inf" without a leading dot are strings.
  const bool looks_like_number = text.find_first_of("0123456789") != std::string::npos;
  if (double number = 0; looks_like_number && absl::SimpleAtod(text, &number)) return number;
  return text;
}

Json ToJson(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return ScalarToJson(node);
    case YAML::NodeType::Sequence: {
      Json list = Json::array();
      for (const YAML::Node& item : node) list.push_back(ToJson(item));
      return list;
    }
    case YAML::NodeType::Map: {
      Json map = Json::object();
      for (const auto& entry : node) map[entry.first.Scalar()] = ToJson(entry.second);
      return map;
    }
    default:
      return nullptr;
  }
}

Json ReadYaml(const std::string& path) {
  if (path.empty()) return Json::object();
  try {
    Json json = ToJson(YAML::LoadFile(path));
    if (!json.is_object()) throw Error(path + ": the configuration is not a map");
    return json;
  } catch (const YAML::BadFile&) {
    throw Error("cannot read the configuration " + path + "; check --config");
  } catch (const YAML::Exception& e) {
    throw Error(path + ":" + std::to_string(e.mark.line + 1) + ":" +
                std::to_string(e.mark.column + 1) + ": " + e.msg);
  }
}

// Sets the value with a dotted name.
void Override(Json* hparams, const std::string& name, const Json& value) {
  Json* at = hparams;
  for (const absl::string_view part : absl::StrSplit(name, '.')) {
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[std::string(part)];
  }
  *at = value;
}

// Replaces {type: const, val: v} by v; rejects every other type.
Json Resolve(const std::string& name, const Json& value) {
  if (!value.is_object()) return value;
  if (!value.contains("type")) {
    Json nested = Json::object();
    for (const auto& [key, inner] : value.items()) {
      nested[key] = Resolve(name.empty() ? key : name + "." + key, inner);
    }
    return nested;
  }
  if (value["type"] == "const" && value.contains("val")) return value["val"];
  throw Error("hyperparameter '" + name + "' is a range (type: " + value["type"].dump() +
              "), but there is no searcher off the cluster; set a value with --hparam " + name +
              "=...");
}

uint32_t ReadSeed(const Json& config) {
  const auto parent = config.find("reproducibility");
  if (parent == config.end() || !parent->is_object()) return 0;
  const Json seed = parent->value("experiment_seed", Json());
  if (seed.is_null()) return 0;
  if (!seed.is_number_integer() || seed < 0 || seed > std::numeric_limits<uint32_t>::max()) {
    throw Error("configuration: reproducibility.experiment_seed is " + seed.dump() +
                ", not an integer from 0 to 4294967295");
  }
  return seed.get<uint32_t>();
}

}  // namespace

OffClusterConfig ReadOffClusterConfig(const std::string& path, const std::string& overrides_json) {
  const Json config = ReadYaml(path);
  const Json overrides =
      Json::parse(overrides_json.empty() ? "{}" : overrides_json, nullptr, false);
  if (!overrides.is_object()) {
    throw Error("hyperparameters of the command line are not a JSON object: " + overrides_json);
  }
  Json hparams = config.value("hyperparameters", Json());
  if (hparams.is_null()) hparams = Json::object();
  if (!hparams.is_object()) throw Error(path + ": hyperparameters is not a map");
  for (const auto& [name, value] : overrides.items()) Override(&hparams, name, value);
  OffClusterConfig result;
  result.config_json = config.dump();
  result.hparams_json = Resolve("", hparams).dump();
  result.seed = ReadSeed(config);
  return result;
}

}  // namespace det::core
