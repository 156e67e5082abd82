#include "master/core/searcher/recorded_curves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace det::searcher {
namespace {

using model::Value;

// Further apart than the ends of any range are.
constexpr double kOtherPresence = 2;
constexpr double kWideRatio = 100;

struct Row {
  int line = 1;
  std::vector<std::string> fields;
};

// RFC 4180: fields in quotes may hold commas, newlines and doubled quotes.
std::vector<Row> SplitCsv(std::string_view csv) {
  std::vector<Row> rows;
  Row row;
  std::string field;
  bool quoted = false;
  int line = 1;
  const auto end_row = [&] {
    row.fields.push_back(std::exchange(field, {}));
    const bool blank = row.fields.size() == 1 && row.fields[0].empty();
    if (!blank) rows.push_back(std::move(row));
    row = Row{.line = line, .fields = {}};
  };
  for (size_t i = 0; i < csv.size(); ++i) {
    const char c = csv[i];
    if (c == '\n') ++line;
    if (quoted) {
      if (c != '"') {
        field += c;
      } else if (i + 1 < csv.size() && csv[i + 1] == '"') {
        field += csv[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      row.fields.push_back(std::exchange(field, {}));
    } else if (c == '\n') {
      end_row();
    } else if (c != '\r') {
      field += c;
    }
  }
  if (!field.empty() || !row.fields.empty()) end_row();
  return rows;
}

std::optional<double> ToNumber(const std::string& text) {
  double number = 0;
  if (text.empty() || !absl::SimpleAtod(text, &number)) return std::nullopt;
  return number;
}

std::string ToText(const Value& value) {
  return value.AsString() != nullptr ? *value.AsString() : value.ToJson();
}

absl::Status At(const std::string& name, int line, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(name, ":", line, ": ", what));
}

}  // namespace

absl::StatusOr<RecordedCurves> RecordedCurves::Parse(std::string_view csv,
                                                     const std::string& name) {
  const std::vector<Row> rows = SplitCsv(csv);
  if (rows.size() < 2) return searcher::At(name, 1, "expected a header and rows of validations");
  RecordedCurves curves;
  const std::vector<std::string>& header = rows[0].fields;
  const auto length = std::find(header.begin(), header.end(), "length");
  if (length == header.end() || length + 1 == header.end()) {
    return searcher::At(name, 1, "expected hyperparameters, then length, then metrics");
  }
  for (auto it = header.begin(); it != length; ++it) {
    curves.columns_.push_back(Column{.leaf = {.path = absl::StrSplit(*it, '.')}});
  }
  curves.metrics_.assign(length + 1, header.end());
  const size_t hparams = curves.columns_.size();
  std::map<std::vector<std::string>, size_t> known;
  for (size_t r = 1; r < rows.size(); ++r) {
    const Row& row = rows[r];
    if (row.fields.size() != header.size()) {
      return searcher::At(name, row.line,
                          absl::StrCat("expected ", header.size(),
                                       " fields as in the header, found ", row.fields.size()));
    }
    const std::optional<double> at = ToNumber(row.fields[hparams]);
    if (!at || !std::isfinite(*at)) {
      return searcher::At(
          name, row.line,
          absl::StrCat("length: expected a number, found \"", row.fields[hparams], "\""));
    }
    std::vector<std::string> texts(row.fields.begin(),
                                   row.fields.begin() + static_cast<std::ptrdiff_t>(hparams));
    const auto [it, inserted] = known.emplace(texts, curves.curves_.size());
    if (inserted) curves.curves_.push_back(Curve{.texts = std::move(texts)});
    std::vector<double>& metrics = curves.curves_[it->second].metrics[*at];
    metrics.clear();
    for (size_t i = hparams + 1; i < row.fields.size(); ++i) {
      metrics.push_back(ToNumber(row.fields[i]).value_or(std::nan("")));
    }
    curves.longest_ = std::max(curves.longest_, *at);
  }
  curves.Scale();
  return curves;
}

void RecordedCurves::Scale() {
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const Curve& curve : curves_) {
      if (curve.texts[c].empty()) continue;
      const std::optional<double> number = ToNumber(curve.texts[c]);
      column.numeric = column.numeric && number && std::isfinite(*number);
      if (!column.numeric) break;
      least = std::min(least, *number);
      most = std::max(most, *number);
    }
    if (!column.numeric || most < least) continue;
    column.logarithmic = least > 0 && most / least > kWideRatio;
    column.least = column.logarithmic ? std::log(least) : least;
    column.span = (column.logarithmic ? std::log(most) : most) - column.least;
  }
  for (Curve& curve : curves_) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      curve.places.push_back(Place(columns_[c], ToNumber(curve.texts[c])));
    }
  }
}

std::optional<double> RecordedCurves::Place(const Column& column,
                                            std::optional<double> number) const {
  if (!column.numeric || !number) return std::nullopt;
  if (column.logarithmic && *number <= 0) return std::nullopt;
  const double at = column.logarithmic ? std::log(*number) : *number;
  return column.span > 0 ? (at - column.least) / column.span : at - column.least;
}

const RecordedCurves::Curve& RecordedCurves::Nearest(const model::Hparams& point) const {
  std::vector<std::string> texts;
  std::vector<std::optional<double>> places;
  for (const Column& column : columns_) {
    const Value* value = Get(column.leaf, point);
    texts.push_back(value == nullptr || value->is_null() ? "" : ToText(*value));
    places.push_back(value == nullptr ? std::nullopt : Place(column, value->AsNumber()));
  }
  // Where nothing is near, because a distance overflows, any of them is as good.
  const Curve* nearest = &curves_.front();
  double least = std::numeric_limits<double>::infinity();
  for (const Curve& curve : curves_) {
    double distance = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (curve.texts[c].empty() != texts[c].empty()) {
        distance += kOtherPresence;
      } else if (curve.places[c] && places[c]) {
        distance += (*curve.places[c] - *places[c]) * (*curve.places[c] - *places[c]);
      } else {
        distance += curve.texts[c] == texts[c] ? 0 : 1;
      }
    }
    if (distance >= least) continue;
    least = distance;
    nearest = &curve;
  }
  return *nearest;
}

const std::vector<double>& RecordedCurves::At(const model::Hparams& point, double length) const {
  const Curve& curve = Nearest(point);
  const auto above = curve.metrics.upper_bound(length);
  return above == curve.metrics.begin() ? above->second : std::prev(above)->second;
}

}  // namespace det::searcher
