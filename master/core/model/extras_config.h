// Smaller sections of the experiment configuration: optimizations, profiling, log policies and
// integrations.
//
// PURE.
#ifndef MASTER_CORE_MODEL_EXTRAS_CONFIG_H_
#define MASTER_CORE_MODEL_EXTRAS_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::model {

// The `optimizations` section; Trial classes and scripts read it.
struct OptimizationsConfig {
  int64_t aggregation_frequency = 1;
  bool average_aggregated_gradients = true;
  bool average_training_metrics = true;
  std::string strategy = "allreduce";
  int64_t local_sgd_steps = 8;  // optimizer steps between two averages
  bool shard_optimizer = false;
  bool hierarchical_allreduce = false;
  int64_t pipeline_micro_batches = 4;
  std::string gradient_compression = "none";
  std::string grad_updates_size_file;
  std::string mixed_precision = "O0";
  int64_t tensor_fusion_threshold = 64;  // MB
  int64_t tensor_fusion_cycle_time = 1;  // ms
  bool auto_tune_tensor_fusion = false;
  friend bool operator==(const OptimizationsConfig&, const OptimizationsConfig&) = default;
};

struct ProfilingConfig {
  bool enabled = false;
  int64_t begin_on_batch = 0;
  std::optional<int64_t> end_after_batch;
  bool sync_timings = true;
  friend bool operator==(const ProfilingConfig&, const ProfilingConfig&) = default;
};

// Limits on the memory of a pattern in RE2 and on the number of policies: every line of a task's
// log is matched against all of them.
inline constexpr int64_t kLogPatternMemory = 1 << 20;  // bytes
inline constexpr size_t kMaxLogPolicies = 100;

// An action on log lines that match a pattern.
struct LogPolicyConfig {
  std::string name;     // label of a run in whose log the pattern matched
  std::string pattern;  // RE2; empty: disabled
  std::string action;   // cancel_retries, exclude_node; empty: only the label
  friend bool operator==(const LogPolicyConfig&, const LogPolicyConfig&) = default;
};

// The policies of every experiment, unless its configuration overrides them by name.
inline std::vector<LogPolicyConfig> BuiltInLogPolicies() {
  std::vector<LogPolicyConfig> policies;
  policies.emplace_back("CUDA OOM", ".*CUDA out of memory.*", "");
  policies.emplace_back("ECC Error", ".*uncorrectable ECC error encountered.*", "");
  return policies;
}

struct PachydermConfig {
  std::string pachd_host;
  std::string proxy_scheme;
  std::string proxy_host;
  std::optional<int> pachd_port;
  std::optional<int> proxy_port;
  std::string project, repo, commit, branch, token;  // of the dataset
  friend bool operator==(const PachydermConfig&, const PachydermConfig&) = default;
};

struct WebhooksConfig {
  std::vector<int64_t> ids;
  std::vector<std::string> names;
  bool exclude = false;  // true: no webhook at all
  friend bool operator==(const WebhooksConfig&, const WebhooksConfig&) = default;
};

struct IntegrationsConfig {
  PachydermConfig pachyderm;
  WebhooksConfig webhooks;
  friend bool operator==(const IntegrationsConfig&, const IntegrationsConfig&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_EXTRAS_CONFIG_H_
