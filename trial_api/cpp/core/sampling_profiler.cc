#include "trial_api/cpp/core/sampling_profiler.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

using std::chrono::milliseconds;

void Check(milliseconds interval, int samples) {
  if (interval >= milliseconds(100) && samples >= 1) return;
  throw Error("the profiler's interval must be at least 0.1 s, and samples_per_report at least 1");
}

class SamplingProfiler final : public Profiler {
 public:
  SamplingProfiler(Metrics* metrics, std::function<MachineSources()> sources)
      : metrics_(*metrics), sources_(std::move(sources)) {}
  ~SamplingProfiler() override { Off(); }

  void On(milliseconds interval, int samples_per_report) override {
    Check(interval, samples_per_report);
    if (thread_.joinable()) return;
    stopped_ = false;
    thread_ = std::thread([this, interval, samples_per_report] {
      try {
        Run(interval, samples_per_report);
      } catch (const std::exception& error) {
        std::fprintf(stderr, "WARNING: stopping the profiler: %s\n", error.what());
      }
    });
  }

  void Off() override {
    if (!thread_.joinable()) return;
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  void Run(milliseconds interval, int samples_per_report) {
    Machine machine(sources_());
    while (true) {
      std::vector<MachineSample> samples;
      for (int i = 0; i < samples_per_report; ++i) {
        std::unique_lock lock(mutex_);
        if (wake_.wait_for(lock, interval, [this] { return stopped_; })) return;
        lock.unlock();
        samples.push_back(machine.Sample());
      }
      ++reports_;
      for (const auto& [group, values] : Mean(samples)) metrics_.Report(group, reports_, values);
    }
  }

  Metrics& metrics_;
  const std::function<MachineSources()> sources_;
  int64_t reports_ = 0;  // continues when the profiler is started again
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

class NoProfiler final : public Profiler {
 public:
  void On(milliseconds interval, int samples_per_report) override {
    Check(interval, samples_per_report);
  }
  void Off() override {}
};

}  // namespace

std::unique_ptr<Profiler> MakeSamplingProfiler(Metrics* metrics,
                                               std::function<MachineSources()> sources) {
  return std::make_unique<SamplingProfiler>(metrics, std::move(sources));
}

std::unique_ptr<Profiler> MakeNoProfiler() { return std::make_unique<NoProfiler>(); }

}  // namespace det::core
