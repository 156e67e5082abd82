#include "master/api/models/convert_model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

constexpr size_t kModelNameLimit = 1024;
constexpr size_t kModelLabelLimit = 256;
constexpr size_t kModelTextLimit = 1 << 20;

// The name appears in paths, where a number would be an ID.
absl::StatusOr<std::string> ReadName(const std::string& name) {
  std::string trimmed = name;
  absl::StripAsciiWhitespace(&trimmed);
  const bool fits = std::none_of(trimmed.begin(), trimmed.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '/' || c == '\\';
  });
  const bool digits = std::all_of(trimmed.begin(), trimmed.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  const bool spaced = absl::StrContains(trimmed, "  ");
  if (fits && !digits && !spaced && trimmed.size() <= kModelNameLimit) return trimmed;
  return absl::InvalidArgumentError(absl::StrCat(
      "name: expected one line of 1 to ", kModelNameLimit,
      " bytes without slashes and repeated spaces that is not a number, found \"", name, "\""));
}

absl::StatusOr<std::string> ReadText(const char* field, const std::string& text) {
  if (text.size() <= kModelTextLimit) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", text.size(), " bytes; the limit is ", kModelTextLimit));
}

absl::StatusOr<model::Value> ReadMetadata(const google::protobuf::Struct& given) {
  model::Value value = FromStruct(given, Numbers::kIntegersIfWhole);
  DET_RETURN_IF_ERROR(ReadText("metadata", value.ToJson()).status());
  return value;
}

absl::Status AddLabel(const std::string& label, std::vector<std::string>* labels) {
  if (label.empty() || label.size() > kModelLabelLimit) {
    return absl::InvalidArgumentError(
        absl::StrCat("labels: expected strings of 1 to ", kModelLabelLimit, " bytes"));
  }
  if (std::count(labels->begin(), labels->end(), label) == 0) labels->push_back(label);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadModelLabels(
    const google::protobuf::RepeatedPtrField<std::string>& given) {
  std::vector<std::string> labels;
  for (const std::string& label : given) DET_RETURN_IF_ERROR(AddLabel(label, &labels));
  return labels;
}

absl::StatusOr<std::vector<std::string>> ReadModelLabels(const google::protobuf::ListValue& given) {
  std::vector<std::string> labels;
  for (const google::protobuf::Value& value : given.values()) {
    DET_RETURN_IF_ERROR(AddLabel(value.string_value(), &labels));
  }
  return labels;
}

// Fields that models and versions share.
template <class Record, class Message>
void FillRecord(const Record& record, Message* out) {
  out->set_id(record.id);
  out->set_name(record.name);
  out->set_notes(record.notes);
  *out->mutable_metadata() = ToStruct(record.metadata);
  out->mutable_labels()->Assign(record.labels.begin(), record.labels.end());
  out->set_user_id(record.owner.value());
  out->set_username(record.owner_name);
  *out->mutable_creation_time() = ToProto(record.created_at);
  *out->mutable_last_updated_time() = ToProto(record.updated_at);
}

template <class Request, class Record>
absl::Status ReadRecord(const Request& request, Record* record) {
  DET_ASSIGN_OR_RETURN(record->notes, ReadText("notes", request.notes()));
  DET_ASSIGN_OR_RETURN(record->metadata, ReadMetadata(request.metadata()));
  DET_ASSIGN_OR_RETURN(record->labels, ReadModelLabels(request.labels()));
  return absl::OkStatus();
}

template <class Message, class Patch>
absl::Status ReadChange(const Message& given, Patch* patch) {
  if (given.has_notes()) {
    DET_ASSIGN_OR_RETURN(patch->notes, ReadText("notes", given.notes()));
  }
  if (given.has_metadata()) {
    DET_ASSIGN_OR_RETURN(patch->metadata, ReadMetadata(given.metadata()));
  }
  if (given.has_labels()) {
    DET_ASSIGN_OR_RETURN(patch->labels, ReadModelLabels(given.labels()));
  }
  return absl::OkStatus();
}

store::ModelQuery::Sort ToSort(v1::GetModelsRequest::SortBy by) {
  using Request = v1::GetModelsRequest;
  using Sort = store::ModelQuery::Sort;
  switch (by) {
    case Request::SORT_BY_NAME:
      return Sort::kName;
    case Request::SORT_BY_DESCRIPTION:
      return Sort::kDescription;
    case Request::SORT_BY_CREATION_TIME:
      return Sort::kCreated;
    case Request::SORT_BY_LAST_UPDATED_TIME:
      return Sort::kUpdated;
    case Request::SORT_BY_NUM_VERSIONS:
      return Sort::kNumVersions;
    case Request::SORT_BY_WORKSPACE:
      return Sort::kWorkspace;
    default:
      return Sort::kId;
  }
}

}  // namespace

v1::Model ToProto(const store::ModelRecord& record) {
  v1::Model out;
  FillRecord(record, &out);
  out.set_description(record.description);
  out.set_num_versions(record.num_versions);
  out.set_archived(record.archived);
  out.set_workspace_id(record.workspace);
  out.set_workspace_name(record.workspace_name);
  return out;
}

v1::ModelVersion ToProto(const store::ModelVersionRecord& record) {
  v1::ModelVersion out;
  FillRecord(record, &out);
  out.set_version(record.version);
  out.set_comment(record.comment);
  return out;
}

store::ModelQuery ToQuery(const v1::GetModelsRequest& request) {
  store::ModelQuery query;
  query.window = ToWindow(request.offset(), request.limit());
  query.sort = ToSort(request.sort_by());
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  if (request.has_id()) query.id = request.id();
  query.name = request.name();
  query.description = request.description();
  query.labels.assign(request.labels().begin(), request.labels().end());
  if (request.has_archived()) query.archived = request.archived();
  query.owners.assign(request.users().begin(), request.users().end());
  for (const int32_t id : request.user_ids()) query.owner_ids.emplace_back(id);
  query.workspace_names.assign(request.workspace_names().begin(), request.workspace_names().end());
  query.workspaces.assign(request.workspace_ids().begin(), request.workspace_ids().end());
  return query;
}

store::ModelVersionQuery ToQuery(const v1::GetModelVersionsRequest& request) {
  return {.window = ToWindow(request.offset(), request.limit()),
          .by_time = request.sort_by() == v1::GetModelVersionsRequest::SORT_BY_CREATION_TIME,
          .descending = request.order_by() == v1::ORDER_BY_DESC};
}

absl::StatusOr<store::ModelRecord> FromProto(const v1::PostModelRequest& request) {
  store::ModelRecord record;
  DET_ASSIGN_OR_RETURN(record.name, ReadName(request.name()));
  DET_ASSIGN_OR_RETURN(record.description, ReadText("description", request.description()));
  DET_RETURN_IF_ERROR(ReadRecord(request, &record));
  return record;
}

absl::StatusOr<store::ModelPatch> FromProto(const v1::PatchModel& given) {
  store::ModelPatch patch;
  if (given.has_name()) {
    DET_ASSIGN_OR_RETURN(patch.name, ReadName(given.name()));
  }
  if (given.has_description()) {
    DET_ASSIGN_OR_RETURN(patch.description, ReadText("description", given.description()));
  }
  DET_RETURN_IF_ERROR(ReadChange(given, &patch));
  return patch;
}

absl::StatusOr<store::ModelVersionRecord> FromProto(const v1::PostModelVersionRequest& request) {
  store::ModelVersionRecord record;
  record.checkpoint = ReadCheckpointId(request.checkpoint_uuid());
  DET_ASSIGN_OR_RETURN(record.name, ReadText("name", request.name()));
  DET_ASSIGN_OR_RETURN(record.comment, ReadText("comment", request.comment()));
  DET_RETURN_IF_ERROR(ReadRecord(request, &record));
  return record;
}

absl::StatusOr<store::ModelVersionPatch> FromProto(const v1::PatchModelVersion& given) {
  store::ModelVersionPatch patch;
  if (given.has_name()) {
    DET_ASSIGN_OR_RETURN(patch.name, ReadText("name", given.name()));
  }
  if (given.has_comment()) {
    DET_ASSIGN_OR_RETURN(patch.comment, ReadText("comment", given.comment()));
  }
  DET_RETURN_IF_ERROR(ReadChange(given, &patch));
  return patch;
}

}  // namespace det::api
