// What every store does to values before it keeps them, and derives from them when it is asked, so
// that all implementations agree. Called by the stores on their callers' threads. Never does I/O.
#ifndef MASTER_STORE_INTERFACES_CANONICAL_H_
#define MASTER_STORE_INTERFACES_CANONICAL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "master/core/cluster/change.h"
#include "master/core/model/experiment_config.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/interfaces/records.h"

namespace det::store {

// UTF-8 without NUL: what is neither becomes U+FFFD. A log line may hold anything.
std::string CleanText(std::string_view text);

// Compact JSON without \u0000. NaN and the infinities are strings, as Value::ToJson makes them.
std::string CleanJson(const model::Value& value);

// The value as it comes back from CleanJson's text.
model::Value Canonical(const model::Value& value);

// Microseconds; what is finer is dropped. Infinite outside the years 1 to 9999.
absl::Time Canonical(absl::Time time);

// Another number than the enumeration's, which came over the wire, is unknown.
model::LogLevel Canonical(model::LogLevel level);

// The change with all its texts, values and times in the form in which they are kept.
cluster::Change Canonical(cluster::Change change);
model::MetricReport Canonical(model::MetricReport report);
model::LogLine Canonical(model::LogLine line);

// The metric `name` as a number; the strings "NaN", "Infinity" and "-Infinity" count as such.
std::optional<double> MetricNumber(const model::Value& metrics, const std::string& name);

// That of the reports that have it.
NumberCurve NumbersOf(const std::vector<model::MetricReport>& reports, const std::string& name);

// The bytes of all files of a checkpoint.
int64_t TotalSize(const model::CheckpointRecord& checkpoint);

// Of the checkpoints of one trial, the one whose validation is best; of equals the earliest. NaN
// and checkpoints without a validation, or that are not COMPLETED, never win. Null when none is
// left.
const CheckpointEntry* FindBest(const std::vector<const CheckpointEntry*>& checkpoints,
                                bool smaller_is_better);

// First and last index of a window of a list of `total`.
struct Range {
  int begin = 0;
  int end = 0;
};
Range Resolve(const Window& window, int total);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_CANONICAL_H_
