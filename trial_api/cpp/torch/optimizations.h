// The section `optimizations` of the experiment configuration, as far as a Trial obeys it.
//
// Read by TrialContext, on the training thread.
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

  int64_t aggregation_frequency = 1;         // batches whose gradients are added before a step
  bool average_aggregated_gradients = true;  // whether their sum is divided by their number
  Strategy strategy = Strategy::kAllReduce;
  int64_t local_sgd_steps = 8;         // of the optimizers, between two averages
  int64_t pipeline_micro_batches = 4;  // of a batch, that are under way at once
  bool shard_optimizer = false;
  bool hierarchical_allreduce = false;
  Compression gradient_compression = Compression::kNone;
  Precision mixed_precision = Precision::kAsIs;  // kOfDevice: the type that fits the slot
  std::optional<int64_t> bucket_bytes = {};      // of tensor_fusion_threshold; none: our own
  bool auto_tune_tensor_fusion = false;
};

// From a whole configuration as JSON text. Absent fields, and null, keep their defaults. Throws
// Error naming the field that is wrong, or the two that do not go together.
Optimizations ParseOptimizations(std::string_view config_json);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_OPTIMIZATIONS_H_
