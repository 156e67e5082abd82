// Sends all reports of a run to the master, in order: metrics and registrations of checkpoints are
// stored in an outbox on disk, and a thread sends them in batches. If the master is unavailable,
// they remain on disk; if the outbox is full, the caller waits; nothing is dropped.
//
// Created on the chief; any thread. Calls throw Error once the master has rejected a report,
// whereas the other reports are still sent, or after StopRetrying() of the client has ended the
// sending.
#ifndef TRIAL_API_CPP_CORE_REPORT_QUEUE_H_
#define TRIAL_API_CPP_CORE_REPORT_QUEUE_H_

#include <chrono>
#include <condition_variable>
#include <cstddef>
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
    Outbox::Options outbox;  // its directory is named after the run: "<trial>/<run id>"
    // How long a validation waits for the master's response; it does not wait if the master is
    // known to be unavailable, or has not answered the previous validation.
    std::chrono::milliseconds response_timeout = std::chrono::seconds(1);
    // Called on the sending thread when the master no longer knows this attempt (RunIsOver);
    // usually ends the process.
    std::function<void(const std::string& why)> on_over;
  };

  // First sends the reports that earlier attempts of the trial have left next to its outbox, as
  // reports of those runs.
  ReportQueue(std::shared_ptr<TrialClient> client, const Options& options);
  // Tries briefly to send the remaining reports; those that cannot be sent are left for the trial's
  // next attempt on this node.
  ~ReportQueue();

  void AddMetrics(const MetricReport& report);
  // Returns whether it is the best validation of the experiment; true if the master does not answer
  // in time.
  bool AddValidation(const MetricReport& report);
  void AddCheckpoint(const CheckpointReport& report);
  // Sent when nothing else is queued; only the newest value counts.
  void SetProgress(double fraction);
  // Waits until the master has received everything.
  void Flush();
  // Discards all reports, because the master has given up this attempt.
  void Discard();

 private:
  struct Answer {
    int64_t number = 0;
    bool best = false;
  };

  // Returns the number of the record. REQUIRES that `lock` holds mutex_.
  int64_t Add(std::unique_lock<std::mutex>& lock, const std::string& record);
  void ThrowIfFailed() const;  // REQUIRES mutex_
  void Run();
  // Lets later calls throw the failure, which has ended the sending.
  void End(std::exception_ptr failure);
  // Lets later calls throw the first rejection of a report.
  void Fail(std::exception_ptr rejection);
  bool Stopping();
  void SendLeftovers();
  void SendLeftover(Outbox& left, int run);
  // Waits for something to send and sends it; returns false when there is nothing left to do.
  bool SendNext();
  void LogWaiting(int64_t records);

  const std::shared_ptr<TrialClient> client_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::unique_ptr<Outbox> outbox_;
  int64_t added_ = 0;  // number of records so far
  int64_t sent_ = 0;
  int64_t last_validation_ = 0;  // number of the newest validation
  Answer answer_;                // response to the last validation that was sent
  std::optional<double> progress_;
  bool busy_ = false;  // a batch is being sent, or was when sending failed
  std::optional<std::chrono::steady_clock::time_point> stop_at_;
  std::exception_ptr failure_;
  bool ended_ = false;  // nothing more is sent

  // Used on the sending thread only: how many of the next records are sent one by one, because the
  // master has rejected them together.
  size_t singly_ = 0;
  std::thread sender_;  // must be last, because it uses all other members
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_REPORT_QUEUE_H_
