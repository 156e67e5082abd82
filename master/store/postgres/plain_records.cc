// SqlStore: contexts, properties.
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/sql_store.h"

namespace det::store {
namespace {

// Keeps an existing row, and returns the stored value in both cases.
constexpr char kProperty[] = R"sql(
INSERT INTO properties (key, value) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET value = properties.value RETURNING value)sql";

}  // namespace

absl::Status SqlStore::PutContext(const std::string& hash, const std::string& tgz) {
  return fence_.Run(readers_, [&](Connection& connection) {
    return connection
        .Exec("INSERT INTO contexts (hash, tgz) VALUES ($1, $2) ON CONFLICT DO NOTHING",
              {ToParam(hash), Binary(tgz)})
        .status();
  });
}

absl::StatusOr<std::string> SqlStore::GetContext(const std::string& hash) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.ExecBinary("SELECT tgz FROM contexts WHERE hash = $1", MakeParams(hash)));
    if (result.rows() > 0) return std::string(result.Text(0, 0));
    return absl::NotFoundError(absl::StrCat("context ", SanitizeText(hash), " not found"));
  });
}

absl::StatusOr<std::string> SqlStore::GetOrSetProperty(const std::string& key,
                                                       const std::string& value_if_absent) {
  return fence_.Run(readers_, [&](Connection& connection) -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kProperty, MakeParams(key, value_if_absent)));
    return std::string(result.Text(0, 0));
  });
}

}  // namespace det::store
