// Helpers shared by sql_models.cc and sql_model_versions.cc. Called on their callers' threads.
#ifndef MASTER_STORE_POSTGRES_MODEL_ROWS_H_
#define MASTER_STORE_POSTGRES_MODEL_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// Returns the labels as JSON; NULL if the patch does not set them.
Param LabelsParam(const std::vector<std::string>& labels);
Param LabelsParam(const std::optional<std::vector<std::string>>& labels);

absl::StatusOr<std::vector<std::string>> ToLabels(const Result& result, int row, int column);

// Locks the model's row until the transaction ends and returns its name. NOT_FOUND;
// FAILED_PRECONDITION if it is archived, unless `archived_too`.
absl::StatusOr<std::string> LockModel(Connection& connection, int32_t id, bool archived_too);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_MODEL_ROWS_H_
