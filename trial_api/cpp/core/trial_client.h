// The client of det.trial.v1.TrialRuntime, with which a trial calls the master. Used by the context
// and by the launcher; any thread, several calls at once.
//
// If no master is available, a call is retried with growing pauses, at each of the masters in turn,
// until one answers or the timeout is reached; the master drops repeated reports. Does not buffer:
// see ReportQueue. Outages of more than a few seconds, and their end, are logged on stderr.
#ifndef TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_
#define TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/report.h"

namespace det::core {

// The master did not answer in time; the call may have been executed or not.
class Unreachable : public Error {
 public:
  using Error::Error;
};

// The master rejects this attempt: its allocation has ended or was given up, or its token is
// invalid. Nothing that the run does counts any more.
class RunIsOver : public Error {
 public:
  using Error::Error;
};

// The master rejects what a call contains, for example one of its reports. Another call may
// succeed.
class InvalidCall : public Error {
 public:
  using Error::Error;
};

struct Node {
  std::string agent_id;
  std::string address;
  int slots = 0;
};

enum class EarlyExit { kInvalidHp, kInvalidCode, kFailed };

// A running WatchAllocation call, which reconnects by itself; the destructor ends it.
class AllocationWatch {
 public:
  virtual ~AllocationWatch() = default;
};

class TrialClient {
 public:
  struct Options {
    std::vector<std::string> masters;  // host:port each; one of them is the leader
    // How to connect: without TLS, or with TLS and these settings.
    struct Tls {
      bool on = false;
      std::string authority;    // CA certificates in PEM; empty: the system's CAs
      std::string master_name;  // name in the masters' certificates; empty: host of the address
    };
    Tls tls;
    std::string token;
    std::string allocation_id;
    int trial_id = 0;
    int trial_run_id = 0;
    // how long to retry while no master answers; nullopt: forever
    std::optional<std::chrono::milliseconds> retry_timeout;
  };

  // Callbacks, called on the watch's thread.
  struct Listener {
    std::function<void(const std::vector<Node>& nodes)> on_rendezvous;
    std::function<void(const std::string& reason)> on_preemption;
    // The allocation has ended, or the master rejects the call; no callbacks follow.
    std::function<void(const std::string& why)> on_end;
  };

  explicit TrialClient(const Options& options);
  ~TrialClient();

  // The functions below throw Unreachable when the timeout is reached, RunIsOver when the master no
  // longer knows this attempt, InvalidCall when it rejects the arguments, and Error when it rejects
  // the call for another reason.
  std::vector<std::string> AllGather(const std::string& key, int rank, int size,
                                     const std::string& mine);
  // Returns whether the validation among the reports is the best of the experiment so far. `run` is
  // the run of this trial that created the reports; nullopt: this run.
  bool ReportMetrics(const std::vector<MetricReport>& reports, std::optional<int> run = {});
  void ReportProgress(double fraction);
  void ReportCheckpoint(const CheckpointReport& checkpoint);
  void AckPreemption();
  void ReportEarlyExit(EarlyExit reason, const std::string& message);

  std::unique_ptr<AllocationWatch> WatchAllocation(Listener listener);

  // Returns whether the last attempt of a call reached no master.
  bool IsMasterUnavailable() const;
  // Limits each call to one short attempt from now on, because the process is about to end.
  void StopRetrying();

 private:
  struct Rep;
  const std::unique_ptr<Rep> rep_;
};

// Reads the options from $DET_MASTERS (or $DET_MASTER_HOST and $DET_MASTER_PORT),
// $DET_MASTER_PATIENCE, $DET_SESSION_TOKEN, $DET_ALLOCATION_ID, $DET_TRIAL_ID and
// $DET_TRIAL_RUN_ID; TLS is used if the masters are https:// or $DET_USE_TLS is "true", with
// $DET_MASTER_CERT_FILE and $DET_MASTER_CERT_NAME. Throws Error with the name of a missing or
// invalid variable.
TrialClient::Options ClientOptionsFromEnvironment();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_
