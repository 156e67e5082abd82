// What a trial says to the master: the client of det.trial.v1.TrialRuntime. Held by the cluster
// twin of the context and by the launcher; any thread, several at once.
//
// A call that finds no master is repeated with growing pauses until the patience is used up; the
// master drops what it has heard already. Never buffers: see ClusterMetrics.
#ifndef TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_
#define TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/metrics.h"

namespace det::core {

// The master did not answer in time: what was asked may have been done or not.
class Unreachable : public Error {
 public:
  using Error::Error;
};

struct MetricReport {
  std::string group;
  int64_t steps_completed = 0;
  MetricMap metrics;
  std::chrono::system_clock::time_point time;
};

struct CheckpointReport {
  std::string uuid;
  int64_t steps_completed = 0;
  std::map<std::string, int64_t> resources;  // bytes of each file
  std::string metadata_json;                 // an object
};

struct Node {
  std::string agent_id;
  std::string address;
  int slots = 0;
};

enum class EarlyExit { kInvalidHp, kInvalidCode, kFailed };

// A running WatchAllocation; ends with its destructor. Reconnects by itself.
class AllocationWatch {
 public:
  virtual ~AllocationWatch() = default;
};

class TrialClient {
 public:
  struct Options {
    std::string target;  // host:port
    std::string token;
    std::string allocation_id;
    int trial_id = 0;
    int trial_run_id = 0;
    std::chrono::milliseconds patience = std::chrono::minutes(5);
  };

  // Called on the watch's own thread.
  struct Listener {
    std::function<void(const std::vector<Node>& nodes)> on_rendezvous;
    std::function<void(const std::string& reason)> on_preemption;
    // The allocation has ended or the master refuses to tell; nothing follows.
    std::function<void(const std::string& why)> on_end;
  };

  explicit TrialClient(const Options& options);
  ~TrialClient();

  // All of these throw Unreachable when patience is used up, Error when the master refuses.
  std::vector<std::string> AllGather(const std::string& key, int rank, int size,
                                     const std::string& mine);
  // Whether the validation among them is the best that the experiment has seen.
  bool ReportMetrics(const std::vector<MetricReport>& reports);
  void ReportProgress(double fraction);
  void ReportCheckpoint(const CheckpointReport& checkpoint);
  void AckPreemption();
  void ReportEarlyExit(EarlyExit reason, const std::string& message);

  std::unique_ptr<AllocationWatch> WatchAllocation(Listener listener);

  // From now on each call is tried once and briefly: the process is about to end.
  void GiveUpSoon();

 private:
  struct Rep;
  const std::unique_ptr<Rep> rep_;
};

// From $DET_MASTER_HOST, $DET_MASTER_PORT, $DET_SESSION_TOKEN, $DET_ALLOCATION_ID, $DET_TRIAL_ID
// and $DET_TRIAL_RUN_ID. Throws Error naming the one that is missing.
TrialClient::Options ClientOptionsFromEnvironment();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_
