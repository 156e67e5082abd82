#include "master/store/testing/fake_templates.h"

#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"

namespace det::store {

absl::StatusOr<std::vector<TemplateRecord>> FakeTemplates::ListTemplates() {
  std::lock_guard lock(db_.mutex);
  std::vector<TemplateRecord> all;
  for (const auto& [name, record] : records_) all.push_back(record);
  return all;
}

absl::StatusOr<TemplateRecord> FakeTemplates::GetTemplate(const std::string& name) {
  std::lock_guard lock(db_.mutex);
  const auto it = records_.find(name);
  if (it == records_.end()) return NoSuchTemplate(name);
  return it->second;
}

absl::Status FakeTemplates::AddTemplate(const TemplateRecord& record) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(CheckOpen(record.workspace));
  return records_.emplace(record.name, record).first->second == record
             ? absl::OkStatus()
             : TemplateExists(record.name);
}

absl::Status FakeTemplates::PutTemplate(const TemplateRecord& record, int32_t from) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(CheckOpen(record.workspace));
  TemplateRecord& there = records_.emplace(record.name, record).first->second;
  if (there.workspace != from && there.workspace != record.workspace) {
    return TemplateExists(record.name);
  }
  there = record;
  return absl::OkStatus();
}

absl::Status FakeTemplates::ReplaceTemplate(const TemplateRecord& record) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(CheckOpen(record.workspace));
  const auto it = records_.find(record.name);
  if (it == records_.end() || it->second.workspace != record.workspace) {
    return NoSuchTemplate(record.name);
  }
  it->second = record;
  return absl::OkStatus();
}

absl::Status FakeTemplates::RenameTemplate(const std::string& name, int32_t in,
                                           const std::string& to) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = records_.find(name);
  if (it == records_.end() || it->second.workspace != in) return NoSuchTemplate(name);
  if (name == to) return absl::OkStatus();
  if (records_.contains(to)) return TemplateExists(to);
  records_[to] = it->second;
  records_[to].name = to;
  records_.erase(name);
  return absl::OkStatus();
}

absl::Status FakeTemplates::DeleteTemplate(const std::string& name, int32_t in) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = records_.find(name);
  if (it == records_.end() || it->second.workspace != in) return NoSuchTemplate(name);
  records_.erase(it);
  return absl::OkStatus();
}

absl::Status FakeTemplates::CheckOpen(int32_t workspace) const {
  const auto it = db_.workspace_rows.workspaces.find(workspace);
  if (it == db_.workspace_rows.workspaces.end()) return NoSuchWorkspace(workspace);
  return it->second.archived ? WorkspaceIsArchived(it->second.name) : absl::OkStatus();
}

}  // namespace det::store
