#include "trial_api/cpp/core/cluster_metrics.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

constexpr size_t kQueueLimit = 1'000;
constexpr size_t kBatchLimit = 100;

class ClusterMetrics final : public Metrics {
 public:
  explicit ClusterMetrics(std::shared_ptr<TrialClient> client)
      : client_(std::move(client)), sender_([this] { Run(); }) {}

  ~ClusterMetrics() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      if (!queue_.empty() || busy_) client_->GiveUpSoon();
    }
    changed_.notify_all();
    sender_.join();
    try {
      ThrowIfFailed();
    } catch (const Error& e) {
      std::cerr << "ERROR: the last metrics are lost: " << e.what() << std::endl;
    }
  }

  void ReportTraining(int64_t steps_completed, const MetricMap& metrics) override {
    Enqueue({"training", steps_completed, metrics, std::chrono::system_clock::now()});
  }

  bool ReportValidation(int64_t steps_completed, const MetricMap& metrics) override {
    const MetricReport report = {"validation", steps_completed, metrics,
                                 std::chrono::system_clock::now()};
    Flush();
    return client_->ReportMetrics({report});
  }

  void Report(const std::string& group, int64_t steps_completed,
              const MetricMap& metrics) override {
    if (group.empty() || group.find('.') != std::string::npos) {
      throw Error("metric group '" + group + "' must have a name without '.'");
    }
    Enqueue({group, steps_completed, metrics, std::chrono::system_clock::now()});
  }

  // Only the newest counts.
  void ReportProgress(double fraction) override {
    std::lock_guard lock(mutex_);
    progress_ = fraction;
    changed_.notify_all();
  }

  void Flush() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return (queue_.empty() && !progress_ && !busy_) || failure_; });
    lock.unlock();
    ThrowIfFailed();
  }

 private:
  void Enqueue(MetricReport report) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return queue_.size() < kQueueLimit || failure_; });
    if (!failure_) {
      queue_.push_back(std::move(report));
      changed_.notify_all();
      return;
    }
    lock.unlock();
    ThrowIfFailed();
  }

  void ThrowIfFailed() {
    std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

  // What the sender does next: reports that are due, then the progress that was true after them.
  struct Work {
    std::vector<MetricReport> reports;
    std::optional<double> progress;
  };

  std::optional<Work> Next() {
    std::unique_lock lock(mutex_);
    busy_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty() || progress_; });
    if (queue_.empty() && !progress_) return std::nullopt;
    Work work;
    const size_t count = std::min(queue_.size(), kBatchLimit);
    const auto end = queue_.begin() + static_cast<ptrdiff_t>(count);
    work.reports.assign(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
    queue_.erase(queue_.begin(), end);
    if (queue_.empty()) work.progress = std::exchange(progress_, std::nullopt);
    busy_ = true;
    return work;
  }

  void Run() {
    while (std::optional<Work> work = Next()) {
      try {
        if (!work->reports.empty()) client_->ReportMetrics(work->reports);
        if (work->progress) client_->ReportProgress(*work->progress);
      } catch (const std::exception&) {
        std::lock_guard lock(mutex_);
        failure_ = std::current_exception();
        changed_.notify_all();
        return;
      }
    }
  }

  const std::shared_ptr<TrialClient> client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<MetricReport> queue_;  // guarded by mutex_, as all below
  std::optional<double> progress_;
  bool busy_ = false;  // the sender holds work that is not stored yet
  bool stopping_ = false;
  std::exception_ptr failure_;
  std::thread sender_;  // last: it uses all of the above
};

class SilentMetrics final : public Metrics {
 public:
  void ReportTraining(int64_t, const MetricMap&) override {}
  bool ReportValidation(int64_t, const MetricMap&) override { return false; }
  void Report(const std::string&, int64_t, const MetricMap&) override {}
  void ReportProgress(double) override {}
  void Flush() override {}
};

}  // namespace

std::unique_ptr<Metrics> MakeClusterMetrics(std::shared_ptr<TrialClient> client) {
  return std::make_unique<ClusterMetrics>(std::move(client));
}

std::unique_ptr<Metrics> MakeSilentMetrics() { return std::make_unique<SilentMetrics>(); }

}  // namespace det::core
