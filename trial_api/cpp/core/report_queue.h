// Everything that a run reports of its training, in one order, until the master has it: metrics and
// registrations of checkpoints wait in an outbox on disk and are sent in batches by a thread of its
// own. A master that is away costs nothing but the disk; a full outbox makes the caller wait;
// nothing is dropped.
//
// Made by GatherClusterParts on the chief; any thread. A call throws Error once the master has
// refused a report, or GiveUpSoon() of the client has ended the sending.
#ifndef TRIAL_API_CPP_CORE_REPORT_QUEUE_H_
#define TRIAL_API_CPP_CORE_REPORT_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "trial_api/cpp/core/outbox.h"
#include "trial_api/cpp/core/report.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {

class ReportQueue {
 public:
  struct Options {
    Outbox::Options outbox;  // its folder is named after the run: "<of the trial>/<run id>"
    // How long a validation waits for the master's word; not at all when the master is known to be
    // away, or has not answered the validation before it.
    std::chrono::milliseconds word = std::chrono::seconds(1);
    // The master no longer knows this run (RunIsOver). On the sending thread; as a rule it ends the
    // process.
    std::function<void(const std::string& why)> on_over;
  };

  // Sends first what earlier runs of the trial have left beside its outbox, each as that run.
  ReportQueue(std::shared_ptr<TrialClient> client, const Options& options);
  // Tries briefly to send what is left; what is left then is for the trial's next run on this node.
  ~ReportQueue();

  void AddMetrics(const MetricReport& report);
  // Whether it is the best that the experiment has seen; true when the master does not say in time.
  bool AddValidation(const MetricReport& report);
  void AddCheckpoint(const CheckpointReport& report);
  // Sent when nothing else waits; only the newest counts.
  void SetProgress(double fraction);
  // Waits until the master has everything.
  void Flush();
  // The run was given up: nothing of it is to be sent any more.
  void Forget();

 private:
  struct Answer {
    int64_t number = 0;
    bool best = false;
  };

  // Returns the record's number. REQUIRES that `lock` holds mutex_.
  int64_t Add(std::unique_lock<std::mutex>& lock, const std::string& record);
  void ThrowIfFailed() const;  // REQUIRES mutex_
  void Run();
  void Fail(std::exception_ptr failure);
  bool Stopping();
  void SendLeftovers();
  void SendLeftover(Outbox& left, int run);
  // Waits for something to send; false when there is nothing left to do.
  bool SendNext();
  void SayWaiting(int64_t records);

  const std::shared_ptr<TrialClient> client_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::unique_ptr<Outbox> outbox_;
  int64_t added_ = 0;  // records so far; the number of the newest
  int64_t sent_ = 0;
  int64_t asked_ = 0;  // number of the newest validation
  Answer answer_;      // to the last validation that was sent
  std::optional<double> progress_;
  bool busy_ = false;  // something is on its way, or was when the sending failed
  std::optional<std::chrono::steady_clock::time_point> stop_at_;
  std::exception_ptr failure_;
  std::thread sender_;  // last: it uses all of the above
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_REPORT_QUEUE_H_
