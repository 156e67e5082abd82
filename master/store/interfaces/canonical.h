// Normalization of values before they are stored, and values derived from stored rows, shared by
// all implementations of Store so that they agree. Called on any thread. Never does I/O.
#ifndef MASTER_STORE_INTERFACES_CANONICAL_H_
#define MASTER_STORE_INTERFACES_CANONICAL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/cluster/change.h"
#include "master/core/model/experiment_config.h"
#include "master/store/interfaces/metric_query.h"
#include "master/store/interfaces/records.h"

namespace det::store {

// Returns valid UTF-8 without NUL: other bytes become U+FFFD.
std::string SanitizeText(std::string_view text);

// The text of a log line may contain any bytes. Canonical(LogLine) keeps NUL. PostgreSQL cannot
// store it, so the column contains the noncharacter U+10FFFF instead; that one becomes U+FFFD.
std::string EncodeLogText(std::string_view text);
std::string DecodeLogText(std::string_view text);

// Returns compact JSON without \u0000. NaN and infinities are strings, as in Value::ToJson.
std::string SanitizeJson(const model::Value& value);

// The value that parsing SanitizeJson's text returns.
model::Value Canonical(const model::Value& value);

// Truncates to microseconds. Times outside the years 1 to 9999 become infinite.
absl::Time Canonical(absl::Time time);

// A number that is not in the enumeration becomes kUnknown.
model::LogLevel Canonical(model::LogLevel level);

// The change with all texts, values and times in stored form.
cluster::Change Canonical(cluster::Change change);
model::MetricReport Canonical(model::MetricReport report);
model::LogLine Canonical(model::LogLine line);

// The type of a metric that was reported with both types: MetricSummary::type.
inline std::string MergeTypes(const std::string& a, const std::string& b) {
  return a == b ? a : "string";
}

// The metric `name` as a number; the strings "NaN", "Infinity" and "-Infinity" are numbers too.
std::optional<double> GetMetricNumber(const model::Value& metrics, const std::string& name);

// The values of the metric `name`, from the reports that have it.
NumberCurve ExtractNumbers(const std::vector<model::MetricReport>& reports,
                           const std::string& name);

// The total size in bytes of a checkpoint's files.
int64_t ComputeTotalSize(const model::CheckpointRecord& checkpoint);

// Reads a storage that a program has registered; members of other types than text are skipped.
model::CheckpointStorageConfig ToStorageConfig(const model::Value& registered);

// Whether the files of an unmanaged experiment's checkpoints are in a folder of the machine where
// its program ran.
bool IsOutside(const experiment::Experiment& experiment,
               const model::CheckpointStorageConfig& storage);

// Returns the checkpoint of one trial with the best validation; the earliest if several are equal.
// Skips checkpoints that are not COMPLETED, have no validation, or whose metric is NaN. Null if
// none is left.
const CheckpointEntry* FindBest(const std::vector<const CheckpointEntry*>& checkpoints,
                                bool smaller_is_better);

// The first index, and the one after the last, of a window of a list of `total` items.
struct Range {
  int begin = 0;
  int end = 0;
};
Range Resolve(const Window& window, int total);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_CANONICAL_H_
