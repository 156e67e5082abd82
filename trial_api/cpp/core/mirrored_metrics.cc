#include "trial_api/cpp/core/mirrored_metrics.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace det::core {
namespace {

class MirroredMetrics final : public Metrics {
 public:
  MirroredMetrics(std::unique_ptr<Metrics> metrics, Tensorboard* tensorboard)
      : metrics_(std::move(metrics)), tensorboard_(*tensorboard) {}

  void ReportTraining(int64_t steps_completed, const MetricMap& metrics) override {
    metrics_->ReportTraining(steps_completed, metrics);
    Mirror("", steps_completed, metrics);
  }
  bool ReportValidation(int64_t steps_completed, const MetricMap& metrics) override {
    const bool best = metrics_->ReportValidation(steps_completed, metrics);
    Mirror("val_", steps_completed, metrics);
    return best;
  }
  void Report(const std::string& group, int64_t steps_completed,
              const MetricMap& metrics) override {
    metrics_->Report(group, steps_completed, metrics);
    if (group == "training") Mirror("", steps_completed, metrics);
    if (group == "validation") Mirror("val_", steps_completed, metrics);
  }
  void ReportProgress(double fraction) override { metrics_->ReportProgress(fraction); }
  void Flush() override { metrics_->Flush(); }

 private:
  void Mirror(const std::string& prefix, int64_t steps_completed, const MetricMap& metrics) {
    for (const auto& [name, value] : metrics) {
      const bool has_prefix = name.rfind("val", 0) == 0;
      tensorboard_.AddScalar("Determined/" + (has_prefix ? name : prefix + name), steps_completed,
                             value);
    }
    tensorboard_.Upload();
  }

  const std::unique_ptr<Metrics> metrics_;
  Tensorboard& tensorboard_;
};

}  // namespace

std::unique_ptr<Metrics> MakeMirroredMetrics(std::unique_ptr<Metrics> metrics,
                                             Tensorboard* tensorboard) {
  return std::make_unique<MirroredMetrics>(std::move(metrics), tensorboard);
}

}  // namespace det::core
