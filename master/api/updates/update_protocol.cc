#include "master/api/updates/update_protocol.h"

#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/model/value.h"

namespace det::api {
namespace {

using model::Value;
using store::StreamedKind;

struct KindNames {
  StreamedKind kind;
  const char* many;  // in requests and in deletions
  const char* one;   // in messages with a record
};
constexpr KindNames kKinds[] = {
    {StreamedKind::kProject, "projects", "project"},
    {StreamedKind::kModel, "models", "model"},
    {StreamedKind::kVersion, "modelversions", "modelversion"},
};

const KindNames& GetNames(StreamedKind kind) { return kKinds[static_cast<int>(kind)]; }

absl::Status Invalid(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(where), ": ", std::string(what)));
}

// The member of an object; null if it is absent or null.
const Value* Find(const Value& object, std::string_view name) {
  const Value* found = object.Find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<int32_t> ToId(const Value& value) {
  const int64_t* number = value.AsInt();
  if (number == nullptr || *number <= 0 || *number > std::numeric_limits<int32_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int32_t>(*number);
}

absl::StatusOr<std::vector<int32_t>> ReadIds(const Value& spec, std::string_view kind,
                                             std::string_view name) {
  std::vector<int32_t> ids;
  const Value* list = Find(spec, name);
  if (list == nullptr) return ids;
  const std::string where = absl::StrCat("subscribe.", std::string(kind), ".", std::string(name));
  if (list->AsList() == nullptr) return Invalid(where, "expected a list of IDs");
  for (const Value& each : *list->AsList()) {
    const std::optional<int32_t> id = ToId(each);
    if (!id) return Invalid(where, absl::StrCat(each.ToJson(), " is not an ID"));
    ids.push_back(*id);
  }
  return ids;
}

absl::StatusOr<UpdateRequest::Subscription> ReadSubscription(const KindNames& names,
                                                             const Value& spec,
                                                             const Value* known) {
  const std::string where = absl::StrCat("subscribe.", names.many);
  if (spec.AsObject() == nullptr) return Invalid(where, "expected an object");
  UpdateRequest::Subscription subscription;
  store::StreamedQuery& query = subscription.query;
  query.kind = names.kind;
  const auto read = [&](std::string_view name) { return ReadIds(spec, names.many, name); };
  if (names.kind == StreamedKind::kVersion) {
    DET_ASSIGN_OR_RETURN(query.models, read("model_ids"));
    DET_ASSIGN_OR_RETURN(query.ids, read("model_version_ids"));
  } else {
    DET_ASSIGN_OR_RETURN(query.workspaces, read("workspace_ids"));
    DET_ASSIGN_OR_RETURN(query.ids, read(absl::StrCat(names.one, "_ids")));
  }
  if (names.kind != StreamedKind::kProject) {
    DET_ASSIGN_OR_RETURN(const std::vector<int32_t> owners, read("user_ids"));
    for (const int32_t id : owners) query.owners.emplace_back(id);
  }
  if (query.ids.empty() && query.workspaces.empty() && query.models.empty() &&
      query.owners.empty()) {
    return Invalid(where, "name the records to follow");
  }
  if (const Value* since = Find(spec, "since"); since != nullptr) {
    if (since->AsInt() == nullptr || *since->AsInt() < 0) {
      return Invalid(absl::StrCat(where, ".since"), "expected the number of a change");
    }
    subscription.since = *since->AsInt();
  }
  if (known == nullptr) return subscription;
  const std::string known_name = absl::StrCat("known.", names.many);
  if (known->AsString() == nullptr) return Invalid(known_name, "expected text such as \"1-3,7\"");
  absl::StatusOr<std::set<int32_t>> ids = ParseIds(*known->AsString());
  if (!ids.ok()) return Invalid(known_name, std::string(ids.status().message()));
  subscription.known = *std::move(ids);
  return subscription;
}

Value ToText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E*SZ", time, absl::UTCTimeZone());
}

Value ToList(const std::vector<std::string>& texts) {
  return Value::List(texts.begin(), texts.end());
}

std::string ToText(store::WorkspaceState state) {
  switch (state) {
    case store::WorkspaceState::kLive:
      return "UNSPECIFIED";
    case store::WorkspaceState::kDeleting:
      return "DELETING";
    case store::WorkspaceState::kDeleteFailed:
      return "DELETE_FAILED";
  }
  return "";
}

std::string MakeMessage(StreamedKind kind, Value::Object record) {
  return Value(Value::Object{{GetNames(kind).one, std::move(record)}}).ToJson();
}

}  // namespace

std::string FormatIds(const std::set<int32_t>& ids) {
  std::string text;
  for (auto it = ids.begin(); it != ids.end();) {
    const int32_t first = *it;
    int32_t last = first;
    while (++it != ids.end() && *it == last + 1) last = *it;
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last > first) absl::StrAppend(&text, "-", last);
  }
  return text;
}

absl::StatusOr<std::set<int32_t>> ParseIds(std::string_view text) {
  std::set<int32_t> ids;
  if (text.empty()) return ids;
  int64_t previous = 0;
  int64_t count = 0;
  const std::vector<std::string> parts = absl::StrSplit(std::string(text), ',');
  for (const std::string& part : parts) {
    const std::vector<std::string> ends = absl::StrSplit(part, absl::MaxSplits('-', 1));
    int32_t first = 0;
    int32_t last = 0;
    if (!absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) ||
        first <= previous || last < first || (ends.size() == 2 && last == first)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", part,
                                                     "\" is not an ID or a range after ", previous,
                                                     "; expected ascending IDs such as \"1-3,7\""));
    }
    count += int64_t{last} - first + 1;
    if (count > kMaxKnownRecords) {
      return absl::InvalidArgumentError(
          absl::StrCat("more than ", kMaxKnownRecords, " records; subscribe to fewer"));
    }
    for (int64_t id = first; id <= last; ++id) ids.insert(ids.end(), static_cast<int32_t>(id));
    previous = last;
  }
  return ids;
}

absl::StatusOr<UpdateRequest> ParseUpdateRequest(std::string_view text) {
  const absl::StatusOr<Value> parsed = Value::FromJson(text);
  if (!parsed.ok() || parsed->AsObject() == nullptr) {
    return absl::InvalidArgumentError("the message is not a JSON object");
  }
  UpdateRequest request;
  const Value* sync_id = Find(*parsed, "sync_id");
  if (sync_id == nullptr || sync_id->AsString() == nullptr) {
    return Invalid("sync_id", "expected text");
  }
  request.sync_id = *sync_id->AsString();
  const Value* subscribe = Find(*parsed, "subscribe");
  const Value* known = Find(*parsed, "known");
  for (const auto& [name, value] : {std::pair("subscribe", subscribe), std::pair("known", known)}) {
    if (value != nullptr && value->AsObject() == nullptr)
      return Invalid(name, "expected an object");
  }
  for (const KindNames& names : kKinds) {
    const Value* spec = subscribe == nullptr ? nullptr : Find(*subscribe, names.many);
    if (spec == nullptr) continue;
    DET_ASSIGN_OR_RETURN(
        request.subscriptions.emplace_back(),
        ReadSubscription(names, *spec, known == nullptr ? nullptr : Find(*known, names.many)));
  }
  return request;
}

KnownRecords::KnownRecords(const UpdateRequest::Subscription& subscription) {
  // A client that does not say what it has seen is trusted to have the newest records.
  const int64_t seq =
      subscription.since > 0 ? subscription.since : std::numeric_limits<int64_t>::max();
  for (const int32_t id : subscription.known) seqs_.emplace_hint(seqs_.end(), id, seq);
}

KnownRecords::Changes KnownRecords::Update(const std::map<int32_t, int64_t>& matching) {
  Changes changes;
  for (const auto& [id, seq] : seqs_) {
    if (!matching.contains(id)) changes.gone.insert(changes.gone.end(), id);
  }
  for (const auto& [id, seq] : matching) {
    const auto known = seqs_.find(id);
    if (known == seqs_.end() || known->second < seq) changes.changed.push_back(id);
  }
  seqs_ = matching;
  return changes;
}

std::string MakeSyncMessage(const std::string& sync_id, bool complete) {
  return Value(Value::Object{{"sync_id", sync_id}, {"complete", complete}}).ToJson();
}

std::string MakeDeletedMessage(StreamedKind kind, const std::set<int32_t>& ids) {
  return Value(Value::Object{{absl::StrCat(GetNames(kind).many, "_deleted"), FormatIds(ids)}})
      .ToJson();
}

std::string MakeRecordMessage(const store::StreamedProject& record) {
  const store::ProjectRecord& project = record.project;
  Value::List notes;
  for (const store::ProjectNote& note : project.notes) {
    notes.emplace_back(Value::Object{{"name", note.name}, {"contents", note.contents}});
  }
  return MakeMessage(StreamedKind::kProject, {{"id", project.id},
                                              {"name", project.name},
                                              {"description", project.description},
                                              {"archived", project.archived},
                                              {"created_at", ToText(record.created_at)},
                                              {"notes", std::move(notes)},
                                              {"workspace_id", project.workspace},
                                              {"user_id", project.owner.value()},
                                              {"immutable", project.immutable},
                                              {"state", ToText(project.state)},
                                              {"key", project.key},
                                              {"seq", record.seq}});
}

std::string MakeRecordMessage(const store::StreamedModel& record) {
  const store::ModelRecord& model = record.model;
  return MakeMessage(StreamedKind::kModel, {{"id", model.id},
                                            {"name", model.name},
                                            {"description", model.description},
                                            {"archived", model.archived},
                                            {"creation_time", ToText(model.created_at)},
                                            {"notes", model.notes},
                                            {"workspace_id", model.workspace},
                                            {"user_id", model.owner.value()},
                                            {"last_updated_time", ToText(model.updated_at)},
                                            {"metadata", model.metadata},
                                            {"labels", ToList(model.labels)},
                                            {"seq", record.seq}});
}

std::string MakeRecordMessage(const store::StreamedVersion& record, bool in_sync) {
  const store::ModelVersionRecord& version = record.version;
  return MakeMessage(StreamedKind::kVersion,
                     {{"id", version.id},
                      {"name", version.name},
                      {"version", version.version},
                      {"checkpoint_uuid", version.checkpoint.value()},
                      {"creation_time", ToText(version.created_at)},
                      {"last_updated_time", ToText(version.updated_at)},
                      {"metadata", version.metadata},
                      {"model_id", version.model},
                      {"user_id", version.owner.value()},
                      {"comment", version.comment},
                      {"labels", ToList(version.labels)},
                      {"notes", version.notes},
                      {"workspace_id", in_sync ? std::string() : absl::StrCat(record.workspace)},
                      {"seq", record.seq}});
}

}  // namespace det::api
