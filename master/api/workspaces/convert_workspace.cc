#include "master/api/workspaces/convert_workspace.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "master/api/common/convert.h"
#include "master/api/users/convert_user.h"

namespace det::api {
namespace {

constexpr size_t kSpaceNameLimit = 80;
constexpr size_t kKeyLimit = 5;

v1::WorkspaceState StateToProto(store::WorkspaceState state) {
  switch (state) {
    case store::WorkspaceState::kLive:
      return v1::WORKSPACE_STATE_UNSPECIFIED;
    case store::WorkspaceState::kDeleting:
      return v1::WORKSPACE_STATE_DELETING;
    case store::WorkspaceState::kDeleteFailed:
      return v1::WORKSPACE_STATE_DELETE_FAILED;
  }
  return v1::WORKSPACE_STATE_UNSPECIFIED;
}

// The members of a storage that existing clients expect, besides `type`; those that are not set are
// null.
std::vector<const char*> GetStorageMembers(const std::string& type) {
  std::vector<const char*> members = {"save_experiment_best", "save_trial_best",
                                      "save_trial_latest"};
  if (type == "shared_fs") {
    members.insert(members.end(), {"host_path", "propagation", "storage_path"});
  } else if (type == "s3") {
    members.insert(members.end(), {"access_key", "bucket", "endpoint_url", "prefix", "secret_key"});
  } else if (type == "gcs") {
    members.insert(members.end(), {"bucket", "prefix"});
  }
  return members;
}

google::protobuf::Struct ShowStorage(const std::string& json) {
  google::protobuf::Struct out;
  const absl::StatusOr<model::Value> value = model::Value::FromJson(json);
  if (!value.ok()) return out;
  out = ToStruct(*value);
  auto& fields = *out.mutable_fields();
  for (const char* secret : {"access_key", "secret_key", "connection_string", "credential"}) {
    const auto it = fields.find(secret);
    if (it != fields.end()) it->second.set_string_value("********");
  }
  for (const char* member : GetStorageMembers(fields["type"].string_value())) {
    if (!fields.contains(member)) fields[member].set_null_value(google::protobuf::NULL_VALUE);
  }
  return out;
}

template <class Request, class Query>
void FillQuery(const Request& request, Query* query) {
  query->window = ToWindow(request.offset(), request.limit());
  query->descending = request.order_by() == v1::ORDER_BY_DESC;
  query->name = request.name();
  if (request.has_archived()) query->archived = request.archived();
  query->owners.assign(request.users().begin(), request.users().end());
  for (const int32_t id : request.user_ids()) query->owner_ids.emplace_back(id);
}

}  // namespace

v1::Workspace ToProto(const store::WorkspaceRecord& record) {
  v1::Workspace out;
  out.set_id(record.id);
  out.set_name(record.name);
  out.set_archived(record.archived);
  out.set_username(record.owner_name);
  out.set_immutable(record.immutable);
  out.set_num_projects(record.num_projects);
  out.set_pinned(record.pinned_at.has_value());
  out.set_user_id(record.owner.value());
  out.set_num_experiments(record.num_experiments);
  out.set_state(StateToProto(record.state));
  out.set_error_message(record.error);
  if (record.agent_user) *out.mutable_agent_user_group() = ToProto(*record.agent_user);
  if (!record.checkpoint_storage.empty()) {
    *out.mutable_checkpoint_storage_config() = ShowStorage(record.checkpoint_storage);
  }
  if (record.pinned_at) *out.mutable_pinned_at() = ToProto(*record.pinned_at);
  out.set_default_compute_pool(record.default_compute_pool);
  out.set_default_aux_pool(record.default_aux_pool);
  return out;
}

v1::Note ToProto(const store::ProjectNote& note) {
  v1::Note out;
  out.set_name(note.name);
  out.set_contents(note.contents);
  return out;
}

v1::Project ToProto(const store::ProjectRecord& record) {
  v1::Project out;
  out.set_id(record.id);
  out.set_name(record.name);
  out.set_workspace_id(record.workspace);
  out.set_description(record.description);
  if (record.last_experiment_started_at) {
    *out.mutable_last_experiment_started_at() = ToProto(*record.last_experiment_started_at);
  }
  for (const store::ProjectNote& note : record.notes) *out.add_notes() = ToProto(note);
  out.set_num_experiments(record.num_experiments);
  out.set_num_active_experiments(record.num_active_experiments);
  out.set_archived(record.archived);
  out.set_username(record.owner_name);
  out.set_immutable(record.immutable);
  out.set_user_id(record.owner.value());
  out.set_workspace_name(record.workspace_name);
  out.set_state(StateToProto(record.state));
  out.set_error_message(record.error);
  out.set_num_runs(record.num_runs);
  out.set_key(record.key);
  return out;
}

store::ProjectNote FromProto(const v1::Note& note) { return {note.name(), note.contents()}; }

store::WorkspaceQuery ToQuery(const v1::GetWorkspacesRequest& request, model::UserId caller) {
  store::WorkspaceQuery query;
  FillQuery(request, &query);
  query.caller = caller;
  query.exact_name = request.name_case_sensitive();
  if (request.has_pinned()) query.pinned = request.pinned();
  if (request.sort_by() == v1::GetWorkspacesRequest::SORT_BY_NAME) {
    query.sort = store::WorkspaceQuery::Sort::kName;
  }
  return query;
}

store::ProjectQuery ToQuery(const v1::GetWorkspaceProjectsRequest& request) {
  using Request = v1::GetWorkspaceProjectsRequest;
  store::ProjectQuery query;
  FillQuery(request, &query);
  query.workspace = request.id();
  switch (request.sort_by()) {
    case Request::SORT_BY_NAME:
      query.sort = store::ProjectQuery::Sort::kName;
      break;
    case Request::SORT_BY_DESCRIPTION:
      query.sort = store::ProjectQuery::Sort::kDescription;
      break;
    case Request::SORT_BY_LAST_EXPERIMENT_START_TIME:
      query.sort = store::ProjectQuery::Sort::kLastExperimentStart;
      break;
    default:  // in creation order
      query.sort = store::ProjectQuery::Sort::kId;
  }
  return query;
}

absl::StatusOr<std::string> ParseSpaceName(const std::string& name) {
  std::string trimmed = name;
  absl::StripAsciiWhitespace(&trimmed);
  const bool is_line =
      std::none_of(trimmed.begin(), trimmed.end(), [](char c) { return absl::ascii_iscntrl(c); });
  if (!trimmed.empty() && base::CountCharacters(trimmed) <= kSpaceNameLimit && is_line)
    return trimmed;
  return absl::InvalidArgumentError(absl::StrCat(
      "name: expected one line of 1 to ", kSpaceNameLimit, " characters, found \"", name, "\""));
}

absl::StatusOr<std::string> ParseProjectKey(const std::string& key) {
  const std::string upper = absl::AsciiStrToUpper(key);
  if (!upper.empty() && upper.size() <= kKeyLimit &&
      std::all_of(upper.begin(), upper.end(), [](char c) { return absl::ascii_isalnum(c); })) {
    return upper;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("key: expected 1 to ", kKeyLimit, " letters and digits, found \"", key, "\""));
}

}  // namespace det::api
