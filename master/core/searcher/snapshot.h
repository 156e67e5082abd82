// Reading the members of a snapshot. Each answers INVALID_ARGUMENT that names the member which is
// missing or of another kind; pointers live as long as the snapshot. Called by what has a Restore.
// PURE.
#ifndef MASTER_CORE_SEARCHER_SNAPSHOT_H_
#define MASTER_CORE_SEARCHER_SNAPSHOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/core/model/value.h"

namespace det::searcher {

// 0 or more.
absl::StatusOr<int64_t> ReadCount(const model::Value& from, const char* name);
// The texts "Infinity", "-Infinity" and "NaN" of Value::ToJson are numbers too.
absl::StatusOr<double> ReadNumber(const model::Value& from, const char* name);
absl::StatusOr<std::vector<double>> ReadNumbers(const model::Value& from, const char* name);
absl::StatusOr<bool> ReadBool(const model::Value& from, const char* name);
absl::StatusOr<std::string> ReadText(const model::Value& from, const char* name);
absl::StatusOr<const model::Value::List*> ReadList(const model::Value& from, const char* name);
absl::StatusOr<const model::Value::Object*> ReadObject(const model::Value& from, const char* name);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SNAPSHOT_H_
