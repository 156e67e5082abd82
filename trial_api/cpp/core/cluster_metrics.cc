#include "trial_api/cpp/core/cluster_metrics.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

class ClusterMetrics final : public Metrics {
 public:
  explicit ClusterMetrics(std::shared_ptr<ReportQueue> queue) : queue_(std::move(queue)) {}

  void ReportTraining(int64_t steps_completed, const MetricMap& metrics) override {
    queue_->AddMetrics(Now("training", steps_completed, metrics));
  }
  bool ReportValidation(int64_t steps_completed, const MetricMap& metrics) override {
    return queue_->AddValidation(Now("validation", steps_completed, metrics));
  }
  void Report(const std::string& group, int64_t steps_completed,
              const MetricMap& metrics) override {
    if (group.empty() || group.find('.') != std::string::npos) {
      throw Error("metric group '" + group + "' must have a name without '.'");
    }
    queue_->AddMetrics(Now(group, steps_completed, metrics));
  }
  void ReportProgress(double fraction) override { queue_->SetProgress(fraction); }
  void Flush() override { queue_->Flush(); }

 private:
  static MetricReport Now(const std::string& group, int64_t steps_completed,
                          const MetricMap& metrics) {
    return {group, steps_completed, metrics, std::chrono::system_clock::now()};
  }

  const std::shared_ptr<ReportQueue> queue_;
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

std::unique_ptr<Metrics> MakeClusterMetrics(std::shared_ptr<ReportQueue> queue) {
  return std::make_unique<ClusterMetrics>(std::move(queue));
}

std::unique_ptr<Metrics> MakeSilentMetrics() { return std::make_unique<SilentMetrics>(); }

}  // namespace det::core
