// The connection of a training process to its trial: configuration, hyperparameters, metrics,
// checkpoints, preemption. The same program runs on and off the cluster; Context::FromEnvironment
// creates the suitable implementation.
//
// On the cluster, the agent and the launcher set the variables of docs/task_environment.md. Off the
// cluster, metrics are printed, checkpoints are saved to a local directory, and there is no
// preemption.
#ifndef TRIAL_API_CPP_CORE_CONTEXT_H_
#define TRIAL_API_CPP_CORE_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trial_api/cpp/core/checkpoint.h"
#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/hparams.h"
#include "trial_api/cpp/core/metrics.h"
#include "trial_api/cpp/core/preemption.h"
#include "trial_api/cpp/core/profiler.h"
#include "trial_api/cpp/core/ranks.h"
#include "trial_api/cpp/core/tensorboard.h"

namespace det {

// A length of training in batches, records or epochs; 0 means never.
struct Length {
  enum class Unit { kBatches, kRecords, kEpochs };
  Unit unit = Unit::kBatches;
  int64_t count = 0;
};

// Parses "3 epochs", "100 batches", "6000 records" or a number of batches. Throws Error.
Length ParseLength(const std::string& text);

// The fields of the experiment configuration that control the training loop.
struct TrainingConfig {
  std::optional<Length> max_length;
  Length validation_period;
  Length checkpoint_period;
  int64_t reporting_period = 100;  // in batches
  int64_t records_per_epoch = 0;   // 0: computed from the data loader
  bool initial_validation = false;
  enum class CheckpointPolicy { kBest, kAll, kNone } checkpoint_policy = CheckpointPolicy::kBest;
  std::string searcher_metric;
  bool smaller_is_better = true;
  bool profiling = false;
  // Lengths, in the unit of max_length, at which the searcher needs a validation.
  std::vector<int64_t> validate_at;
};

class Context {
 public:
  virtual ~Context() = default;

  virtual bool on_cluster() const = 0;
  virtual int experiment_id() const = 0;  // 0 off the cluster
  virtual int trial_id() const = 0;       // 0 off the cluster
  virtual uint32_t seed() const = 0;
  // Returns whether checkpoints().Latest() belongs to another trial: only its weights are used, not
  // its progress.
  virtual bool warm_start() const = 0;
  virtual const Hparams& hparams() const = 0;
  virtual const TrainingConfig& training() const = 0;
  virtual std::string config_json() const = 0;  // the whole experiment configuration as JSON
  // the section `data` as JSON; its content is up to the user
  virtual std::string data_json() const = 0;

  virtual const Ranks& ranks() const = 0;
  virtual Communicator& communicator() = 0;
  virtual Metrics& metrics() = 0;
  virtual Checkpoints& checkpoints() = 0;
  virtual Preemption& preemption() = 0;
  virtual Tensorboard& tensorboard() = 0;
  virtual Profiler& profiler() = 0;

  // Reports to the master that the hyperparameters of this trial are invalid. The process should
  // exit afterwards.
  virtual void ReportInvalidHp(const std::string& message) = 0;
  // Reports to the master why this process is about to fail. May be called on any rank; the master
  // keeps the first report. Not for PeerGone. Does nothing off the cluster; never throws.
  virtual void ReportFailure(const std::string& message) = 0;

  // The options of a run off the cluster, from the command line.
  struct OffCluster {
    std::string config_path;     // path of the experiment configuration (YAML); empty: defaults
    std::string hparams_json;    // hyperparameters to override, as a JSON object
    std::string checkpoint_dir;  // directory for checkpoints; empty: ./checkpoints
    std::string restore;  // UUID of a checkpoint below checkpoint_dir to start from, or empty
    std::optional<Length> max_length;
    std::optional<uint32_t> seed;  // default: reproducibility.experiment_seed, else 0
  };

  // Parses the flags of every program with a Trial: --config FILE, --hparam NAME=VALUE (repeatable;
  // VALUE as JSON, otherwise as string), --checkpoint-dir DIR, --restore UUID, --max-length LENGTH,
  // --seed N. Throws Error with the name of an unknown argument.
  static OffCluster ParseArguments(int argc, const char* const* argv);

  // Returns the ranks that this process has to run: normally its own ($DET_RANK of $DET_SIZE; rank
  // 0 of 1 if they are not set). With optimizations.strategy in_process, the first process of a
  // node runs all ranks of its node, each as a thread with its own context, and the others run
  // none. Throws Error.
  static std::vector<Ranks> RanksOfProcess(const OffCluster& off_cluster);

  // Creates a context: for the cluster if $DET_ALLOCATION_ID is set, otherwise for a run off the
  // cluster. Connects to the other ranks. Throws Error.
  static std::unique_ptr<Context> FromEnvironment(const OffCluster& off_cluster,
                                                  const Ranks& ranks);
  // Same as above, for a process that has exactly one rank.
  static std::unique_ptr<Context> FromEnvironment(const OffCluster& off_cluster);
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_CONTEXT_H_
