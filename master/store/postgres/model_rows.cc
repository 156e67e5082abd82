#include "master/store/postgres/model_rows.h"

#include "base/status_macros.h"
#include "master/store/interfaces/models.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"

namespace det::store {

Param LabelsParam(const std::vector<std::string>& labels) {
  return ToParam(model::Value(model::Value::List(labels.begin(), labels.end())));
}
Param LabelsParam(const std::optional<std::vector<std::string>>& labels) {
  return labels ? LabelsParam(*labels) : Param{};
}

absl::StatusOr<std::vector<std::string>> ToLabels(const Result& result, int row, int column) {
  const absl::StatusOr<model::Value> value = ToValue(result, row, column);
  DET_RETURN_IF_ERROR(value.status());
  std::vector<std::string> labels;
  const model::Value::List* list = value->AsList();
  if (list == nullptr) return labels;
  for (const model::Value& item : *list) {
    if (item.AsString() != nullptr) labels.push_back(*item.AsString());
  }
  return labels;
}

absl::StatusOr<std::string> LockModel(Connection& connection, int32_t id, bool archived_too) {
  DET_ASSIGN_OR_RETURN(
      const Result row,
      connection.Exec("SELECT name, archived FROM models WHERE id = $1 FOR NO KEY UPDATE",
                      MakeParams(id)));
  if (row.rows() == 0) return NoSuchModel(std::to_string(id));
  std::string name(row.Text(0, 0));
  if (row.Bool(0, 1) && !archived_too) return ModelIsArchived(name);
  return name;
}

}  // namespace det::store
