#include "trial_api/cpp/torch/optimizations.h"

#include <algorithm>
#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"
#include <nlohmann/json.hpp>

namespace det::trial {
namespace {

using Json = nlohmann::json;
using Strategy = Optimizations::Strategy;
using Compression = Optimizations::Compression;
using Precision = Optimizations::Precision;

template <class T>
using Named = std::pair<const char*, T>;

constexpr Named<Strategy> kStrategies[] = {
    {"allreduce", Strategy::kAllReduce}, {"local_sgd", Strategy::kLocalSgd},
    {"async", Strategy::kAsync},         {"parameter_server", Strategy::kParameterServer},
    {"pipeline", Strategy::kPipeline},   {"in_process", Strategy::kInProcess}};
constexpr Named<Compression> kCompressions[] = {{"none", Compression::kNone},
                                                {"float16", Compression::kFloat16},
                                                {"bfloat16", Compression::kBFloat16},
                                                {"int8", Compression::kInt8}};
constexpr Named<Precision> kPrecisions[] = {
    {"O0", Precision::kAsIs},         {"O1", Precision::kOfDevice},
    {"O2", Precision::kOfDevice},     {"O3", Precision::kOfDevice},
    {"float16", Precision::kFloat16}, {"bfloat16", Precision::kBFloat16}};
// The default value of the field, in megabytes.
constexpr int64_t kDefaultFusion = 64;

[[noreturn]] void ThrowField(const std::string& path, const Json& value,
                             const std::string& expected) {
  throw Error("configuration: " + path + " is " + value.dump() + ", not " + expected);
}

// A field that is null counts as missing.
const Json* Find(const Json& object, const std::string& name) {
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? nullptr : &*it;
}

// Reads a field of the section; `to` is unchanged if it is missing.
void Read(const Json& section, const std::string& name, int64_t min, int64_t* to) {
  const Json* const value = Find(section, name);
  if (value == nullptr) return;
  if (!value->is_number_integer() || value->get<int64_t>() < min) {
    ThrowField("optimizations." + name, *value, "an integer >= " + std::to_string(min));
  }
  *to = value->get<int64_t>();
}

void Read(const Json& section, const std::string& name, bool* to) {
  const Json* const value = Find(section, name);
  if (value == nullptr) return;
  if (!value->is_boolean()) ThrowField("optimizations." + name, *value, "true or false");
  *to = value->get<bool>();
}

template <class T, size_t kCount>
void Read(const Json& section, const std::string& name, const Named<T> (&names)[kCount], T* to) {
  const Json* const value = Find(section, name);
  if (value == nullptr) return;
  std::string expected = "one of";
  for (const auto& [word, meaning] : names) {
    if (*value == word) {
      *to = meaning;
      return;
    }
    expected += std::string(&names[0].first == &word ? " " : ", ") + word;
  }
  ThrowField("optimizations." + name, *value, expected);
}

void ReadCompression(const Json& section, Compression* to) {
  const Json* const value = Find(section, "gradient_compression");
  if (value != nullptr && value->is_boolean()) {
    *to = value->get<bool>() ? Compression::kFloat16 : Compression::kNone;
  } else {
    Read(section, "gradient_compression", kCompressions, to);
  }
}

// Options for gradients have no meaning in strategies that exchange weights.
void CheckTogether(const Optimizations& read) {
  const std::pair<const char*, bool> of_allreduce[] = {
      {"gradient_compression", read.gradient_compression != Compression::kNone},
      {"shard_optimizer", read.shard_optimizer},
      {"hierarchical_allreduce", read.hierarchical_allreduce},
      {"auto_tune_tensor_fusion", read.auto_tune_tensor_fusion}};
  const char* strategy = "";
  for (const auto& [name, meaning] : kStrategies) {
    if (meaning == read.strategy) strategy = name;
  }
  for (const auto& [name, given] : of_allreduce) {
    if (read.strategy == Strategy::kAllReduce || !given) continue;
    throw Error("configuration: optimizations." + std::string(name) +
                " requires the strategy allreduce, not " + strategy);
  }
  if (read.hierarchical_allreduce && read.gradient_compression == Compression::kInt8) {
    throw Error(
        "configuration: optimizations.hierarchical_allreduce cannot sum int8 gradients, which have "
        "different scales; set gradient_compression to float16, bfloat16 or "
        "none");
  }
  if (read.auto_tune_tensor_fusion && read.gradient_compression == Compression::kInt8) {
    throw Error(
        "configuration: optimizations.auto_tune_tensor_fusion changes the buckets, to which the "
        "scales of int8 gradients belong; set gradient_compression to float16, bfloat16 or none");
  }
}

}  // namespace

Optimizations ParseOptimizations(std::string_view config_json) {
  const Json config = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) throw Error("configuration: not a JSON object");
  Optimizations read;
  const Json* const section = Find(config, "optimizations");
  if (section == nullptr) return read;
  if (!section->is_object()) ThrowField("optimizations", *section, "a map");
  Read(*section, "aggregation_frequency", 1, &read.aggregation_frequency);
  Read(*section, "average_aggregated_gradients", &read.average_aggregated_gradients);
  Read(*section, "strategy", kStrategies, &read.strategy);
  Read(*section, "local_sgd_steps", 1, &read.local_sgd_steps);
  Read(*section, "pipeline_micro_batches", 1, &read.pipeline_micro_batches);
  Read(*section, "shard_optimizer", &read.shard_optimizer);
  Read(*section, "hierarchical_allreduce", &read.hierarchical_allreduce);
  Read(*section, "mixed_precision", kPrecisions, &read.mixed_precision);
  Read(*section, "auto_tune_tensor_fusion", &read.auto_tune_tensor_fusion);
  ReadCompression(*section, &read.gradient_compression);
  int64_t fusion = kDefaultFusion;
  Read(*section, "tensor_fusion_threshold", 0, &fusion);
  if (fusion != kDefaultFusion) {
    // one terabyte; larger values make no difference
    constexpr int64_t kMaxMegabytes = int64_t{1} << 20;
    read.bucket_bytes = std::clamp<int64_t>(fusion, 1, kMaxMegabytes) << 20;
  }
  CheckTogether(read);
  return read;
}

}  // namespace det::trial
