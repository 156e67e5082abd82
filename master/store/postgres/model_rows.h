// Pieces that the statements of models and of their versions share. Called by their sources here,
// on their callers' threads.
#ifndef MASTER_STORE_POSTGRES_MODEL_ROWS_H_
#define MASTER_STORE_POSTGRES_MODEL_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// As JSON; NULL for what a patch does not set.
Param LabelsParam(const std::vector<std::string>& labels);
Param LabelsParam(const std::optional<std::vector<std::string>>& labels);

absl::StatusOr<std::vector<std::string>> ToLabels(const Result& result, int row, int column);

// The name of the model, whose row is held until the transaction ends. NOT_FOUND;
// FAILED_PRECONDITION for an archived one, unless `archived_too`.
absl::StatusOr<std::string> LockModel(Connection& connection, int32_t id, bool archived_too);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_MODEL_ROWS_H_
