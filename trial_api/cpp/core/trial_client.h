// What a trial says to the master: the client of det.trial.v1.TrialRuntime. Held by the cluster
// twin of the context and by the launcher; any thread, several at once.
//
// A call that finds no master is repeated with growing pauses, at each of the masters in turn,
// until one answers or the patience is used up; the master drops what it has heard already. Never
// buffers: see ReportQueue. An outage of more than a few seconds is said on stderr, and its end.
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

// The master did not answer in time: what was asked may have been done or not.
class Unreachable : public Error {
 public:
  using Error::Error;
};

// The master refuses this run: its allocation has ended or was given up, its token is void. Nothing
// that it does counts any more.
class RunIsOver : public Error {
 public:
  using Error::Error;
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
    std::vector<std::string> masters;  // host:port each; one of them answers
    // How they are met: in the clear, or over TLS by these.
    struct Tls {
      bool on = false;
      std::string authority;    // PEM; empty: the system's authorities
      std::string master_name;  // in their certificates; empty: as in their addresses
    };
    Tls tls;
    std::string token;
    std::string allocation_id;
    int trial_id = 0;
    int trial_run_id = 0;
    std::optional<std::chrono::milliseconds> patience;  // with a master that is away; none: no end
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

  // All of these throw Unreachable when patience is used up, RunIsOver when the master no longer
  // knows this run, Error when it refuses the call.
  std::vector<std::string> AllGather(const std::string& key, int rank, int size,
                                     const std::string& mine);
  // Whether the validation among them is the best that the experiment has seen. `run`: which run of
  // this trial reports them; none: this one.
  bool ReportMetrics(const std::vector<MetricReport>& reports, std::optional<int> run = {});
  void ReportProgress(double fraction);
  void ReportCheckpoint(const CheckpointReport& checkpoint);
  void AckPreemption();
  void ReportEarlyExit(EarlyExit reason, const std::string& message);

  std::unique_ptr<AllocationWatch> WatchAllocation(Listener listener);

  // Whether the last try of a call found no master.
  bool MasterIsAway() const;
  // From now on each call is tried once and briefly: the process is about to end.
  void GiveUpSoon();

 private:
  struct Rep;
  const std::unique_ptr<Rep> rep_;
};

// From $DET_MASTERS (or $DET_MASTER_HOST and $DET_MASTER_PORT), $DET_MASTER_PATIENCE,
// $DET_SESSION_TOKEN, $DET_ALLOCATION_ID, $DET_TRIAL_ID and $DET_TRIAL_RUN_ID; over TLS where these
// are https://, or $DET_USE_TLS is "true", with $DET_MASTER_CERT_FILE and $DET_MASTER_CERT_NAME. Throws
// Error naming the one that is missing or wrong.
TrialClient::Options ClientOptionsFromEnvironment();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_TRIAL_CLIENT_H_
