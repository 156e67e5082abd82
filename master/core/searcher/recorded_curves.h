// Learning curves that were recorded, to run searches against: the nearest recorded configuration
// answers for one that was not. Made of a CSV text (RFC 4180): a header; a column for each
// hyperparameter, nested ones as "optimizer.lr"; then `length`, then a column for each metric. A
// row is one validation. An empty field is an absent hyperparameter, or no metric.
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

  // Of the nearest configuration: the metrics at the longest recorded length that is not above
  // `length`, or at its shortest. In the order of `metrics()`; NaN where there is none.
  const std::vector<double>& At(const model::Hparams& point, double length) const;

  const std::vector<std::string>& metrics() const { return metrics_; }
  size_t configurations() const { return curves_.size(); }
  double longest() const { return longest_; }

 private:
  // How one hyperparameter is compared: numbers by their place between the least and the most, in
  // logarithms where they span more than two powers of ten; everything else by equality.
  struct Column {
    Leaf leaf;  // its path alone
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
