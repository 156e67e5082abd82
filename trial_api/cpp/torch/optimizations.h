// The section `optimizations` of the experiment configuration, as far as it concerns a Trial.
//
// Parsed by TrialContext, on the training thread.
#ifndef TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_
#define TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::trial {

struct Optimizations {
  enum class Strategy { kAllReduce, kLocalSgd, kAsync, kParameterServer, kPipeline, kInProcess };
  enum class Compression { kNone, kFloat16, kBFloat16, kInt8 };
  enum class Precision { kAsIs, kOfDevice, kFloat16, kBFloat16 };

  int64_t aggregation_frequency = 1;  // number of batches whose gradients are added before a step
  bool average_aggregated_gradients = true;  // whether the sum is divided by the number of batches
  Strategy strategy = Strategy::kAllReduce;
  int64_t local_sgd_steps = 8;         // steps of the optimizers between two averages
  int64_t pipeline_micro_batches = 4;  // parts of a batch that are processed at the same time
  bool shard_optimizer = false;
  bool hierarchical_allreduce = false;
  Compression gradient_compression = Compression::kNone;
  Precision mixed_precision = Precision::kAsIs;  // kOfDevice: the type that suits the slot
  // from tensor_fusion_threshold; nullopt: default sizes
  std::optional<int64_t> bucket_bytes = {};
  bool auto_tune_tensor_fusion = false;
};

// Parses the section of an experiment configuration (JSON). Missing and null fields have their
// defaults. Throws Error with the name of an invalid field, or of two incompatible ones.
Optimizations ParseOptimizations(std::string_view config_json);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_
