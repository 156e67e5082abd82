// Recorded learning curves for simulated searches: a configuration gets the curve of the nearest
// recorded one. Read from CSV (RFC 4180): a header; a column for each hyperparameter, nested ones
// as "optimizer.lr"; then `length`, then a column for each metric. A row is one validation. An
// empty field is an absent hyperparameter or metric.
//
// Used by `det search simulate` (the master's SearchService) and by benchmarks. PURE.
#ifndef MASTER_CORE_SEARCHER_RECORDED_CURVES_H_
#define MASTER_CORE_SEARCHER_RECORDED_CURVES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"
#include "master/core/searcher/space.h"

namespace det::searcher {

class RecordedCurves {
 public:
  // INVALID_ARGUMENT "name:line: what is wrong".
  static absl::StatusOr<RecordedCurves> Parse(std::string_view csv, const std::string& name);

  // Returns the metrics of the nearest configuration at the longest recorded length up to `length`,
  // or at its shortest. In the order of `metrics()`; NaN if absent.
  const std::vector<double>& At(const model::Hparams& point, double length) const;

  const std::vector<std::string>& metrics() const { return metrics_; }
  size_t configurations() const { return curves_.size(); }
  double longest() const { return longest_; }

 private:
  // How one hyperparameter is compared: numbers by their position between minimum and maximum, in
  // logarithms if they span more than two powers of ten; other values by equality.
  struct Column {
    Leaf leaf;  // only its path
    bool numeric = true;
    bool logarithmic = false;
    double least = 0;
    double span = 1;
  };
  struct Curve {
    std::vector<std::string> texts;  // one per column
    std::vector<std::optional<double>> places;
    std::map<double, std::vector<double>> metrics;  // by length
  };

  void Scale();
  std::optional<double> Place(const Column& column, std::optional<double> number) const;
  const Curve& Nearest(const model::Hparams& point) const;

  std::vector<Column> columns_;
  std::vector<std::string> metrics_;
  std::vector<Curve> curves_;
  double longest_ = 0;
};

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_RECORDED_CURVES_H_
