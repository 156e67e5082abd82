#include "master/store/testing/fake_governance.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/experiment/experiment.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/testing/fake_database.h"

namespace det::store {
namespace {

bool Matches(const AuditRecord& record, const AuditQuery& query) {
  return (!query.user || record.user == query.user) &&
         absl::StartsWith(record.method, query.method) &&
         (!query.since || record.at >= *query.since) &&
         (!query.until || record.at < *query.until) &&
         (query.before_id == 0 || record.id < query.before_id);
}

// Whether the allocation ran during the interval.
bool RanDuring(const experiment::Allocation& a, absl::Time from, absl::Time until) {
  return a.started_at && *a.started_at < until && (!a.ended_at || *a.ended_at > from);
}

UsageRecord ToUsage(const experiment::Allocation& a) {
  UsageRecord record;
  record.allocation = a.id;
  record.slots = a.granted * a.fraction;
  record.started_at = Canonical(*a.started_at);
  if (a.ended_at) record.ended_at = Canonical(*a.ended_at);
  return record;
}

}  // namespace

absl::Status FakeAudit::AddAudit(const std::vector<AuditRecord>& records) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(database_.mutex);
  std::vector<AuditRecord>& rows = database_.governance.audit;
  for (const AuditRecord& record : records) {
    const int64_t last = rows.empty() ? 0 : rows.back().id;
    rows.push_back(record);
    rows.back().id = last + 1;
    rows.back().at = Canonical(record.at);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<AuditRecord>> FakeAudit::ListAudit(const AuditQuery& query) {
  std::lock_guard lock(database_.mutex);
  const std::vector<AuditRecord>& rows = database_.governance.audit;
  std::vector<AuditRecord> found;
  int before = query.offset;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (query.limit > 0 && found.size() == static_cast<size_t>(query.limit)) break;
    if (Matches(*row, query) && before-- <= 0) found.push_back(*row);
  }
  return found;
}

absl::StatusOr<int> FakeAudit::CountAudit(const AuditQuery& query) {
  std::lock_guard lock(database_.mutex);
  const std::vector<AuditRecord>& rows = database_.governance.audit;
  return static_cast<int>(std::count_if(
      rows.begin(), rows.end(), [&](const AuditRecord& row) { return Matches(row, query); }));
}

absl::StatusOr<std::optional<StoredResponse>> FakeStoredResponses::GetResponse(
    model::UserId user, const std::string& key, absl::Time since) {
  std::lock_guard lock(database_.mutex);
  const auto it = database_.governance.responses.find({user, key});
  if (it == database_.governance.responses.end() || it->second.at < since) return std::nullopt;
  return it->second;
}

absl::Status FakeStoredResponses::PutResponse(const StoredResponse& stored, absl::Time since) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(database_.mutex);
  auto& responses = database_.governance.responses;
  std::erase_if(responses, [&](const auto& item) { return item.second.at < since; });
  StoredResponse& kept = responses[{stored.user, stored.key}];
  kept = stored;
  kept.at = Canonical(stored.at);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<MessageRecord>> FakeClusterMessage::GetMessage() {
  std::lock_guard lock(database_.mutex);
  return database_.governance.message;
}

absl::Status FakeClusterMessage::SetMessage(const MessageRecord& message) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(database_.mutex);
  MessageRecord kept = message;
  kept.starts_at = Canonical(message.starts_at);
  kept.created_at = Canonical(message.created_at);
  if (message.ends_at) kept.ends_at = Canonical(*message.ends_at);
  database_.governance.message = std::move(kept);
  return absl::OkStatus();
}

absl::Status FakeClusterMessage::ClearMessage() {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(database_.mutex);
  database_.governance.message.reset();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UsageRecord>> FakeUsage::ListUsage(absl::Time from, absl::Time until) {
  std::lock_guard lock(database_.mutex);
  std::vector<UsageRecord> found;
  for (const auto& [id, a] : database_.allocations) {
    const auto trial = database_.trials.find(a.trial);
    if (!RanDuring(a, from, until) || trial == database_.trials.end()) continue;
    const auto e = database_.experiments.find(trial->second.experiment);
    if (e == database_.experiments.end()) continue;
    UsageRecord& record = found.emplace_back(ToUsage(a));
    record.experiment = e->first;
    record.user = e->second.owner;
    record.username = experiment::OwnerName(e->second);
    const WorkspaceRecord workspace =
        database_.FindWorkspace(a, database_.WithCurrentProject(e->second).workspace);
    record.workspace_id = workspace.id;
    record.workspace = workspace.name;
    record.labels = e->second.config->labels;
    record.resource_pool = a.resource_pool;
  }
  for (const auto& [id, a] : database_.allocations) {
    const auto task = database_.tasks.find(a.task);
    if (!RanDuring(a, from, until) || task == database_.tasks.end()) continue;
    UsageRecord& record = found.emplace_back(ToUsage(a));
    record.kind = task->second.kind;
    record.user = task->second.owner;
    record.username = OwnerName(task->second);
    const WorkspaceRecord workspace = database_.FindWorkspace(a, task->second.workspace);
    record.workspace_id = workspace.id;
    record.workspace = workspace.name;
    record.resource_pool = a.resource_pool;
  }
  for (const FakeDatabase::DeletedRun& run : database_.deleted_runs) {
    if (!RanDuring(run.allocation, from, until)) continue;
    UsageRecord& record = found.emplace_back(ToUsage(run.allocation));
    record.experiment = run.experiment;
    record.username = run.owner;
    record.workspace = run.workspace;
    record.resource_pool = run.allocation.resource_pool;
  }
  std::sort(found.begin(), found.end(), [](const UsageRecord& a, const UsageRecord& b) {
    return std::pair(a.started_at, a.experiment) < std::pair(b.started_at, b.experiment);
  });
  return found;
}

absl::StatusOr<std::vector<CapacityRecord>> FakeUsage::ListCapacity(absl::Time from,
                                                                    absl::Time until) {
  std::lock_guard lock(database_.mutex);
  std::vector<CapacityRecord> found;
  const auto& all = database_.capacity;
  for (auto it = all.begin(); it != all.end(); ++it) {
    const auto& [agent, began_at] = it->first;
    const auto next = std::next(it);
    const bool followed =
        next != all.end() && next->first.first == agent && next->first.second < until;
    if (began_at >= until || it->second.slots == 0) continue;
    if (followed && next->first.second <= from) continue;
    CapacityRecord& record = found.emplace_back();
    record.agent = agent;
    record.resource_pool = it->second.resource_pool;
    record.slots = it->second.slots;
    record.began_at = began_at;
    if (followed) record.ended_at = next->first.second;
  }
  std::sort(found.begin(), found.end(), [](const CapacityRecord& a, const CapacityRecord& b) {
    return std::pair(a.began_at, a.agent) < std::pair(b.began_at, b.agent);
  });
  return found;
}

}  // namespace det::store
