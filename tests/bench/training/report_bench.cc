// Measures the cost of a report of training metrics for the training thread while the master is
// unavailable: encoding it and writing it to the outbox. Prints the result with its target; exits
// with 1 if it is missed.
#include <time.h>

#include <chrono>
#include <cstdio>
#include <memory>

#include "base/file.h"
#include "trial_api/cpp/core/report_queue.h"

// CPU time of this thread.
double CpuMicroseconds() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

int main() {
  using Clock = std::chrono::steady_clock;
  constexpr int kReports = 200'000;
  const auto dir = det::base::TempDir::Create("report_bench");
  if (!dir.ok()) return 1;
  det::core::TrialClient::Options client;
  client.masters = {"127.0.0.1:1"};  // No server listens there.
  client.allocation_id = "1.1.0";
  det::core::ReportQueue::Options options;
  options.outbox.dir = dir->path() + "/outbox";
  options.outbox.limit = int64_t{1} << 32;
  det::core::ReportQueue queue(std::make_shared<det::core::TrialClient>(client), options);
  det::core::MetricReport report;
  report.group = "training";
  for (const char* name :
       {"loss", "accuracy", "perplexity", "learning_rate", "grad_norm", "a", "b", "c"}) {
    report.metrics[name] = 0.123456789;
  }
  const auto start = Clock::now();
  const double cpu = CpuMicroseconds();
  for (int step = 1; step <= kReports; ++step) {
    report.steps_completed = step;
    report.time = std::chrono::system_clock::now();
    queue.AddMetrics(report);
  }
  const double wall =
      std::chrono::duration<double, std::micro>(Clock::now() - start).count() / kReports;
  const double each = (CpuMicroseconds() - cpu) / kReports;
  std::printf("report of 8 metrics, us on the training thread  %6.2f  < 20  %s\n", each,
              each < 20 ? "ok" : "MISSED");
  std::printf("wall-clock time, including other load           %6.2f\n", wall);
  queue.Discard();
  return each < 20 ? 0 : 1;
}
