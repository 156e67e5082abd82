#include "trial_api/cpp/core/printed_metrics.h"

#include <memory>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>

#include "trial_api/cpp/core/error.h"

namespace det::core {
namespace {

class PrintedMetrics final : public Metrics {
 public:
  PrintedMetrics(std::ostream& out, std::string searcher_metric, bool smaller_is_better)
      : out_(out),
        searcher_metric_(std::move(searcher_metric)),
        sign_(smaller_is_better ? 1 : -1) {}

  void ReportTraining(int64_t steps_completed, const MetricMap& metrics) override {
    Print("training", steps_completed, metrics);
  }

  bool ReportValidation(int64_t steps_completed, const MetricMap& metrics) override {
    Print("validation", steps_completed, metrics);
    const auto found = metrics.find(searcher_metric_);
    if (found == metrics.end()) return true;
    const double loss = sign_ * found->second;
    if (best_ && loss >= *best_) return false;
    best_ = loss;
    return true;
  }

  void Report(const std::string& group, int64_t steps_completed,
              const MetricMap& metrics) override {
    if (group.empty() || group.find('.') != std::string::npos) {
      throw Error("metric group '" + group + "' must have a name without '.'");
    }
    Print(group, steps_completed, metrics);
  }

  void ReportProgress(double) override {}
  void Flush() override { out_.flush(); }

 private:
  void Print(const std::string& group, int64_t steps_completed, const MetricMap& metrics) {
    std::ostringstream line;
    line << group << " steps=" << steps_completed;
    for (const auto& [name, value] : metrics) line << ' ' << name << '=' << value;
    line << '\n';
    out_ << line.str() << std::flush;
  }

  std::ostream& out_;
  const std::string searcher_metric_;
  const int sign_;
  std::optional<double> best_;
};

}  // namespace

std::unique_ptr<Metrics> MakePrintedMetrics(std::ostream& out, std::string searcher_metric,
                                            bool smaller_is_better) {
  return std::make_unique<PrintedMetrics>(out, std::move(searcher_metric), smaller_is_better);
}

}  // namespace det::core
