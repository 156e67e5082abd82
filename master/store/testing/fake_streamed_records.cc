#include "master/store/testing/fake_streamed_records.h"

#include <algorithm>
#include <mutex>

#include "absl/time/time.h"

namespace det::store {
namespace {

template <class Item>
bool Has(const std::vector<Item>& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Adds the record to `seqs` if the query selects it.
void Select(const StreamedQuery& query, int32_t id, int64_t seq, int32_t workspace,
            model::UserId owner, int32_t model, std::map<int32_t, int64_t>* seqs) {
  if (query.visible && !Has(*query.visible, workspace)) return;
  if (Has(query.ids, id) || Has(query.workspaces, workspace) || Has(query.owners, owner) ||
      Has(query.models, model)) {
    seqs->emplace(id, seq);
  }
}

// Calls `add` with the record of each id that exists, in the order of their ids.
template <class Rows, class Add>
void ForEach(const std::vector<int32_t>& ids, const Rows& rows, const Add& add) {
  for (const auto& [id, row] : rows) {
    if (Has(ids, id)) add(row);
  }
}

}  // namespace

template <class Record>
void FakeStreamedRecords::NumberChanges(const std::map<int32_t, Record>& rows,
                                        Numbered<Record>* numbered) {
  for (auto it = numbered->begin(); it != numbered->end();) {
    if (rows.contains(it->first)) {
      ++it;
    } else {
      it = numbered->erase(it);
      ++last_change_;
    }
  }
  for (const auto& [id, row] : rows) {
    const auto it = numbered->find(id);
    if (it == numbered->end() || it->second.first != row) {
      numbered->insert_or_assign(id, std::pair(row, ++last_change_));
    }
  }
}

void FakeStreamedRecords::NumberChanges() {
  NumberChanges(db_.workspace_rows.projects, &projects_);
  NumberChanges(db_.models.models, &models_);
  std::map<int32_t, std::pair<ModelVersionRecord, int32_t>> versions;
  for (const auto& [key, version] : db_.models.versions) {
    versions.emplace(version.id, std::pair(version, db_.models.models.at(version.model).workspace));
  }
  NumberChanges(versions, &versions_);
}

absl::StatusOr<int64_t> FakeStreamedRecords::GetLastChange() {
  std::lock_guard lock(db_.mutex);
  NumberChanges();
  return last_change_;
}

absl::StatusOr<std::map<int32_t, int64_t>> FakeStreamedRecords::ListSeqs(
    const StreamedQuery& query) {
  std::lock_guard lock(db_.mutex);
  NumberChanges();
  std::map<int32_t, int64_t> seqs;
  switch (query.kind) {
    case StreamedKind::kProject:
      for (const auto& [id, row] : projects_) {
        Select(query, id, row.second, row.first.workspace, row.first.owner, 0, &seqs);
      }
      break;
    case StreamedKind::kModel:
      for (const auto& [id, row] : models_) {
        Select(query, id, row.second, row.first.workspace, row.first.owner, 0, &seqs);
      }
      break;
    case StreamedKind::kVersion:
      for (const auto& [id, row] : versions_) {
        const auto& [version, workspace] = row.first;
        Select(query, id, row.second, workspace, version.owner, version.model, &seqs);
      }
      break;
  }
  return seqs;
}

absl::StatusOr<std::vector<StreamedProject>> FakeStreamedRecords::ReadProjects(
    const std::vector<int32_t>& ids) {
  std::lock_guard lock(db_.mutex);
  NumberChanges();
  std::vector<StreamedProject> records;
  ForEach(ids, projects_, [&](const auto& row) {
    records.push_back({row.first, absl::UnixEpoch(), row.second});
  });
  return records;
}

absl::StatusOr<std::vector<StreamedModel>> FakeStreamedRecords::ReadModels(
    const std::vector<int32_t>& ids) {
  std::lock_guard lock(db_.mutex);
  NumberChanges();
  std::vector<StreamedModel> records;
  ForEach(ids, models_, [&](const auto& row) { records.push_back({row.first, row.second}); });
  return records;
}

absl::StatusOr<std::vector<StreamedVersion>> FakeStreamedRecords::ReadVersions(
    const std::vector<int32_t>& ids) {
  std::lock_guard lock(db_.mutex);
  NumberChanges();
  std::vector<StreamedVersion> records;
  ForEach(ids, versions_, [&](const auto& row) {
    records.push_back({row.first.first, row.first.second, row.second});
  });
  return records;
}

}  // namespace det::store
