// What a training process knows of its trial and how it speaks to the cluster. The same program
// runs on the cluster and off it: Context::FromEnvironment gives the twin that fits.
//
// On the cluster, the agent and the launcher have set the variables of docs/task_environment.md.
// Off it, metrics are printed, checkpoints lie in a directory, nobody preempts.
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

// From "3 epochs", "100 batches", "6000 records" or a bare number of batches. Throws Error.
Length ParseLength(const std::string& text);

// The parts of the experiment configuration that the training loop obeys.
struct TrainingConfig {
  std::optional<Length> max_length;
  Length validation_period;
  Length checkpoint_period;
  int64_t reporting_period = 100;  // batches
  int64_t records_per_epoch = 0;   // 0: what the data loader says
  bool initial_validation = false;
  enum class CheckpointPolicy { kBest, kAll, kNone } checkpoint_policy = CheckpointPolicy::kBest;
  std::string searcher_metric;
  bool smaller_is_better = true;
  bool profiling = false;
  // Lengths, in the unit of max_length, after which the search wants to hear of the trial.
  std::vector<int64_t> validate_at;
};

class Context {
 public:
  virtual ~Context() = default;

  virtual bool on_cluster() const = 0;
  virtual int experiment_id() const = 0;  // 0 off the cluster
  virtual int trial_id() const = 0;       // 0 off the cluster
  virtual uint32_t seed() const = 0;
  // Whether checkpoints().Latest() is another trial's: its weights are taken, not its progress.
  virtual bool warm_start() const = 0;
  virtual const Hparams& hparams() const = 0;
  virtual const TrainingConfig& training() const = 0;
  virtual std::string config_json() const = 0;  // the whole configuration
  virtual std::string data_json() const = 0;    // its `data`, free-form

  virtual const Ranks& ranks() const = 0;
  virtual Communicator& communicator() = 0;
  virtual Metrics& metrics() = 0;
  virtual Checkpoints& checkpoints() = 0;
  virtual Preemption& preemption() = 0;
  virtual Tensorboard& tensorboard() = 0;
  virtual Profiler& profiler() = 0;

  // Tells the master that this trial's hyperparameters are invalid; the process should then exit.
  virtual void ReportInvalidHp(const std::string& message) = 0;
  // Tells the master why this process is about to fail. Any rank may; the master keeps the first
  // word. Not for PeerGone. Does nothing off the cluster; never throws.
  virtual void ReportFailure(const std::string& message) = 0;

  // Off the cluster: what the command line said instead of a master.
  struct OffCluster {
    std::string config_path;     // experiment configuration (YAML); empty: defaults
    std::string hparams_json;    // overrides, "{}" for none
    std::string checkpoint_dir;  // where to save; empty: ./checkpoints
    std::string restore;         // a checkpoint's UUID below checkpoint_dir, or empty
    std::optional<Length> max_length;
    std::optional<uint32_t> seed;  // else reproducibility.experiment_seed, else 0
  };

  // The flags that every program with a Trial takes: --config FILE, --hparam NAME=VALUE
  // (repeatable; VALUE as JSON, else as text), --checkpoint-dir DIR, --restore UUID, --max-length
  // LENGTH, --seed N. Throws Error naming a word that is none of these.
  static OffCluster ParseArguments(int argc, const char* const* argv);

  // The ranks that this process is: its own ($DET_RANK of $DET_SIZE; one when they are not set).
  // With optimizations.strategy in_process the node's first process is all ranks of its node, each
  // a thread with a context of its own, and the others are none. Throws Error.
  static std::vector<Ranks> RanksOfProcess(const OffCluster& off_cluster);

  // On the cluster when $DET_ALLOCATION_ID is set, else off it. Connects the communicator with the
  // other ranks. Throws Error.
  static std::unique_ptr<Context> FromEnvironment(const OffCluster& off_cluster,
                                                  const Ranks& ranks);
  // Of the only rank that this process is.
  static std::unique_ptr<Context> FromEnvironment(const OffCluster& off_cluster);
};

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_CONTEXT_H_
