#include "master/store/testing/fake_models.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_sort.h"

namespace det::store {
namespace {

bool IsIn(const std::string& part, const std::string& text) {
  return absl::StrContains(absl::AsciiStrToLower(text), absl::AsciiStrToLower(part));
}

template <class List, class Item>
bool Has(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

template <class T>
std::vector<T> Cut(const std::vector<T>& found, const Window& window) {
  const Range range = Resolve(window, static_cast<int>(found.size()));
  return {found.begin() + range.begin, found.begin() + range.end};
}

void Sort(std::vector<ModelRecord>& models, const ModelQuery& query) {
  using By = ModelQuery::Sort;
  const auto by = [&](const auto& key) {
    SortBy(
        models, query.descending, [&](const ModelRecord& m) { return std::optional(key(m)); },
        [](const ModelRecord& m) { return m.id; });
  };
  switch (query.sort) {
    case By::kId:
      return by([](const ModelRecord& m) { return m.id; });
    case By::kName:
      return by([](const ModelRecord& m) { return m.name; });
    case By::kDescription:
      return by([](const ModelRecord& m) { return m.description; });
    case By::kCreated:
      return by([](const ModelRecord& m) { return m.created_at; });
    case By::kUpdated:
      return by([](const ModelRecord& m) { return m.updated_at; });
    case By::kNumVersions:
      return by([](const ModelRecord& m) { return m.num_versions; });
    case By::kWorkspace:
      return by([](const ModelRecord& m) { return m.workspace_name; });
  }
}

// Applies the fields that both kinds of patches have.
template <class Patch, class Record>
void Apply(const Patch& patch, Record* row) {
  if (patch.name) row->name = *patch.name;
  if (patch.notes) row->notes = *patch.notes;
  if (patch.metadata) row->metadata = Canonical(*patch.metadata);
  if (patch.labels) row->labels = *patch.labels;
  row->updated_at = Canonical(patch.at);
}

}  // namespace

ModelRecord FakeModels::Read(const ModelRecord& row) const {
  ModelRecord record = row;
  record.owner_name = db_.GetUsername(row.owner);
  record.workspace_name = db_.workspace_rows.workspaces.at(row.workspace).name;
  record.num_versions =
      static_cast<int>(std::count_if(rows_.versions.begin(), rows_.versions.end(),
                                     [&](const auto& item) { return item.first.first == row.id; }));
  return record;
}

ModelVersionRecord FakeModels::Read(const ModelVersionRecord& row) const {
  ModelVersionRecord record = row;
  record.owner_name = db_.GetUsername(row.owner);
  return record;
}

ModelRecord* FakeModels::Find(int32_t id) {
  const auto it = rows_.models.find(id);
  return it == rows_.models.end() ? nullptr : &it->second;
}

ModelVersionRecord* FakeModels::Find(int32_t model, int32_t version) {
  const auto it = rows_.versions.find({model, version});
  return it == rows_.versions.end() ? nullptr : &it->second;
}

bool FakeModels::IsTaken(const std::string& name, int32_t excluded) const {
  return std::any_of(rows_.models.begin(), rows_.models.end(), [&](const auto& item) {
    return item.second.name == name && item.first != excluded;
  });
}

absl::Status FakeModels::CheckOpen(int32_t workspace) const {
  const auto it = db_.workspace_rows.workspaces.find(workspace);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(workspace);
  return it->second.archived ? WorkspaceIsArchived(it->second.name) : absl::OkStatus();
}

absl::Status FakeModels::VersionNotFound(int32_t model, int32_t version) {
  const ModelRecord* row = Find(model);
  return row == nullptr ? NoSuchModel(std::to_string(model)) : NoSuchVersion(row->name, version);
}

std::vector<ModelRecord> FakeModels::FilterModels(const ModelQuery& query) const {
  std::vector<ModelRecord> found;
  for (const auto& [id, row] : rows_.models) {
    ModelRecord record = Read(row);
    const bool matches =
        (!query.id || *query.id == id) && IsIn(query.name, row.name) &&
        IsIn(query.description, row.description) &&
        (query.labels.empty() ||
         std::any_of(query.labels.begin(), query.labels.end(),
                     [&](const std::string& label) { return Has(record.labels, label); })) &&
        (!query.archived || *query.archived == row.archived) &&
        (query.owners.empty() || Has(query.owners, record.owner_name)) &&
        (query.owner_ids.empty() || Has(query.owner_ids, row.owner)) &&
        (query.workspace_names.empty() || Has(query.workspace_names, record.workspace_name)) &&
        (query.workspaces.empty() || Has(query.workspaces, row.workspace)) &&
        (!query.visible || Has(*query.visible, row.workspace));
    if (matches) found.push_back(std::move(record));
  }
  return found;
}

absl::StatusOr<ModelRecord> FakeModels::GetModel(const std::string& name) {
  std::lock_guard lock(db_.mutex);
  const std::optional<int32_t> id = ParseModelId(name);
  for (const auto& [number, row] : rows_.models) {
    if (id ? number == *id : row.name == name) return Read(row);
  }
  return NoSuchModel(name);
}

absl::StatusOr<ModelPage> FakeModels::ListModels(const ModelQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<ModelRecord> found = FilterModels(query);
  Sort(found, query);
  const int total = static_cast<int>(found.size());
  return ModelPage{Cut(found, query.window), total};
}

absl::StatusOr<ModelRecord> FakeModels::AddModel(const ModelRecord& model) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(CheckOpen(model.workspace));
  if (IsTaken(model.name, 0)) return ModelExists(model.name);
  const int32_t id = ++rows_.last_model;
  ModelRecord& row = rows_.models[id];
  row = model;
  row.id = id;
  row.metadata = Canonical(model.metadata);
  row.created_at = row.updated_at = Canonical(model.created_at);
  return Read(row);
}

absl::StatusOr<ModelRecord> FakeModels::ChangeModel(int32_t id, const ModelPatch& patch) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  ModelRecord* row = Find(id);
  if (row == nullptr) return NoSuchModel(std::to_string(id));
  if (row->archived && !patch.archived) return ModelIsArchived(row->name);
  if (patch.workspace) DET_RETURN_IF_ERROR(CheckOpen(*patch.workspace));
  if (patch.name && IsTaken(*patch.name, id)) return ModelExists(*patch.name);
  Apply(patch, row);
  if (patch.description) row->description = *patch.description;
  row->workspace = patch.workspace.value_or(row->workspace);
  row->archived = patch.archived.value_or(row->archived);
  return Read(*row);
}

absl::Status FakeModels::DeleteModel(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (rows_.models.erase(id) == 0) return NoSuchModel(std::to_string(id));
  std::erase_if(rows_.versions, [&](const auto& item) { return item.first.first == id; });
  rows_.last_numbers.erase(id);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FakeModels::ListModelLabels(const ModelQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::map<std::string, int> counts;
  for (const ModelRecord& record : FilterModels(query)) {
    for (const std::string& label : record.labels) ++counts[label];
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [label, count] : counts) order.emplace_back(-count, label);
  std::sort(order.begin(), order.end());
  std::vector<std::string> labels;
  for (auto& [unused, label] : order) labels.push_back(std::move(label));
  return labels;
}

absl::StatusOr<ModelVersionRecord> FakeModels::GetVersion(int32_t model, int32_t version) {
  std::lock_guard lock(db_.mutex);
  const ModelVersionRecord* row = Find(model, version);
  if (row == nullptr) return VersionNotFound(model, version);
  return Read(*row);
}

absl::StatusOr<ModelVersionPage> FakeModels::ListVersions(int32_t model,
                                                          const ModelVersionQuery& query) {
  std::lock_guard lock(db_.mutex);
  std::vector<ModelVersionRecord> found;
  for (const auto& [key, row] : rows_.versions) {
    if (key.first == model) found.push_back(Read(row));
  }
  SortBy(
      found, query.descending,
      [&](const ModelVersionRecord& v) {
        return std::optional(query.by_time ? v.created_at : absl::Time());
      },
      [](const ModelVersionRecord& v) { return v.version; });
  const int total = static_cast<int>(found.size());
  return ModelVersionPage{Cut(found, query.window), total};
}

absl::StatusOr<ModelVersionRecord> FakeModels::AddVersion(const ModelVersionRecord& version) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  ModelRecord* model = Find(version.model);
  if (model == nullptr) return NoSuchModel(std::to_string(version.model));
  if (model->archived) return ModelIsArchived(model->name);
  const auto checkpoint = db_.checkpoints.find(version.checkpoint);
  if (checkpoint == db_.checkpoints.end()) return NoSuchCheckpointToHold(version.checkpoint);
  if (checkpoint->second.state != model::CheckpointState::kCompleted) {
    return NotCompleted(version.checkpoint, checkpoint->second.state);
  }
  const int32_t number = ++rows_.last_numbers[version.model];
  ModelVersionRecord& row = rows_.versions[{version.model, number}];
  row = version;
  row.id = ++rows_.last_version;
  row.version = number;
  row.metadata = Canonical(version.metadata);
  row.created_at = row.updated_at = Canonical(version.created_at);
  model->updated_at = row.created_at;
  return Read(row);
}

absl::StatusOr<ModelVersionRecord> FakeModels::ChangeVersion(int32_t model, int32_t version,
                                                             const ModelVersionPatch& patch) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  ModelVersionRecord* row = Find(model, version);
  if (row == nullptr) return VersionNotFound(model, version);
  const ModelRecord& of = *Find(model);
  if (of.archived) return ModelIsArchived(of.name);
  Apply(patch, row);
  if (patch.comment) row->comment = *patch.comment;
  return Read(*row);
}

absl::Status FakeModels::DeleteVersion(int32_t model, int32_t version, absl::Time at) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (rows_.versions.erase({model, version}) == 0) return VersionNotFound(model, version);
  Find(model)->updated_at = Canonical(at);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FakeModels::ListHolders(model::ExperimentId id) {
  std::lock_guard lock(db_.mutex);
  std::map<std::pair<std::string, int32_t>, std::string> holders;
  for (const auto& [key, version] : rows_.versions) {
    const auto checkpoint = db_.checkpoints.find(version.checkpoint);
    if (checkpoint == db_.checkpoints.end() || !db_.BelongsTo(checkpoint->second, id)) continue;
    const std::string& model = rows_.models.at(key.first).name;
    holders[{model, key.second}] = GetHolderName(model, key.second);
  }
  std::vector<std::string> names;
  for (auto& [unused, name] : holders) names.push_back(std::move(name));
  return names;
}

}  // namespace det::store
