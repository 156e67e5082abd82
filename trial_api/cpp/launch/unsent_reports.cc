#include "trial_api/cpp/launch/unsent_reports.h"

#include <sys/eventfd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/outbox_location.h"
#include "trial_api/cpp/core/report_queue.h"

namespace det::launch {
namespace {

// Runs on another thread, because the main thread waits for signals.
class Flush {
 public:
  explicit Flush(core::ReportQueue& queue)
      : event_(::eventfd(0, EFD_CLOEXEC)), thread_([this, &queue] { Run(queue); }) {}
  ~Flush() { thread_.join(); }

  void Wait(Signals& signals) {
    while (!done_) signals.WaitOrStop(event_.get(), -1);
  }

 private:
  void Run(core::ReportQueue& queue) {
    try {
      queue.Flush();
    } catch (const Error& e) {
      std::fprintf(stderr, "WARNING: %s\n", e.what());
    }
    done_ = true;
    ::eventfd_write(event_.get(), 1);
  }

  const base::Fd event_;
  std::atomic<bool> done_ = false;
  std::thread thread_;  // must be last, because it uses all other members
};

}  // namespace

void SendUnsentReports(const core::TrialClient::Options& options, Signals& signals) {
  const core::Outbox::Options outbox =
      core::GetOutboxOptions(core::GetTrialOwner(options.trial_id), options.trial_run_id);
  std::error_code ignored;
  if (!std::filesystem::exists(outbox.dir, ignored)) return;
  try {
    const auto client = std::make_shared<core::TrialClient>(options);
    core::ReportQueue queue(client, {.outbox = outbox, .on_over = {}});
    Flush flush(queue);
    try {
      flush.Wait(signals);
    } catch (const Stopped&) {
      client->StopRetrying();
      throw;
    }
  } catch (const Stopped&) {
    throw;
  } catch (const Error& e) {
    std::fprintf(stderr, "WARNING: %s\n", e.what());
  }
}

}  // namespace det::launch
