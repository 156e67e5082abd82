// Reading the members of a snapshot. Each returns INVALID_ARGUMENT with the name of the member if
// it is missing or of another type; pointers are valid as long as the snapshot. Called by
// implementations of Restore. PURE.
#ifndef MASTER_CORE_SEARCHER_SNAPSHOT_H_
#define MASTER_CORE_SEARCHER_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::searcher {

// Reads an integer >= 0.
absl::StatusOr<int64_t> ReadCount(const model::Value& from, const char* name);
// Accepts the strings "Infinity", "-Infinity" and "NaN" of Value::ToJson.
absl::StatusOr<double> ReadNumber(const model::Value& from, const char* name);
absl::StatusOr<std::vector<double>> ReadNumbers(const model::Value& from, const char* name);
absl::StatusOr<bool> ReadBool(const model::Value& from, const char* name);
absl::StatusOr<std::string> ReadText(const model::Value& from, const char* name);
absl::StatusOr<const model::Value::List*> ReadList(const model::Value& from, const char* name);
absl::StatusOr<const model::Value::Object*> ReadObject(const model::Value& from, const char* name);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SNAPSHOT_H_
