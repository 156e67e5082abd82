#include "master/api/authz/authorizer.h"

#include <cmath>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/model/id_text.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace det::api {
namespace {

using auth::Where;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// How long something that was moved may still be judged by where it was.
constexpr absl::Duration kRemember = absl::Seconds(5);
constexpr size_t kMostRemembered = 10'000;

// The value of a field, or of its element `i`; empty when it is not set, or is no id.
std::string TextOf(const Message& message, const FieldDescriptor& field, int i) {
  const auto* r = message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32: {
      const int32_t value =
          many ? r->GetRepeatedInt32(message, &field, i) : r->GetInt32(message, &field);
      return value == 0 ? "" : absl::StrCat(value);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return many ? r->GetRepeatedString(message, &field, i) : r->GetString(message, &field);
    default:
      return "";
  }
}

void Collect(const Message& message, std::string_view path, std::vector<std::string>* out) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field =
      message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (field == nullptr) return;
  const auto* r = message.GetReflection();
  const int count = field->is_repeated() ? r->FieldSize(message, field) : 1;
  for (int i = 0; i < count; ++i) {
    if (dot == path.npos) {
      std::string text = TextOf(message, *field, i);
      if (!text.empty()) out->push_back(std::move(text));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Collect(field->is_repeated() ? r->GetRepeatedMessage(message, field, i)
                                   : r->GetMessage(message, field),
              path.substr(dot + 1), out);
    }
  }
}

bool IsThing(Where where) { return where >= Where::kWorkspace; }

absl::Status NotItsOwn(const auth::Principal& task, Where where, const std::string& id) {
  const std::string_view noun = auth::Noun(where);
  return absl::PermissionDeniedError(
      absl::StrCat("the token of allocation ", task.allocation.value(), " is not good for ",
                   absl::string_view(noun.data(), noun.size()), " ", id));
}

}  // namespace

std::vector<std::string> ValuesAt(const Message& request, std::string_view path) {
  std::vector<std::string> values;
  Collect(request, path, &values);
  return values;
}

absl::StatusOr<auth::Principal> Admission::Admit(std::string_view method,
                                                 std::string_view authorization,
                                                 const Message& request) {
  if (auth::RequirementOf(method).anyone) return auth::Principal();
  DET_ASSIGN_OR_RETURN(auth::Principal principal, authenticator_.Authenticate(authorization));
  DET_RETURN_IF_ERROR(Count(principal));
  DET_RETURN_IF_ERROR(auth::Authorize(method, principal));
  if (principal.kind != auth::PrincipalKind::kAgent) {
    DET_RETURN_IF_ERROR(JudgeNamed(method, principal, request));
  }
  return principal;
}

absl::StatusOr<auth::Principal> Admission::AdmitHead(std::string_view method,
                                                     std::string_view authorization) {
  absl::StatusOr<auth::Principal> principal = authenticator_.Admit(method, authorization);
  if (principal.ok()) return principal;
  const absl::StatusOr<auth::Principal> caller = authenticator_.Authenticate(authorization);
  if (caller.ok()) DET_RETURN_IF_ERROR(Count(*caller));
  return principal;
}

absl::Status Admission::Count(const auth::Principal& caller) {
  if (caller.kind != auth::PrincipalKind::kUser) return absl::OkStatus();
  const auto wait = limits_.Take(caller.token_hash, clock_.Now());
  if (!wait) return absl::OkStatus();
  absl::Status refusal = absl::ResourceExhaustedError(
      "this token asks too often; come back after a second, or ask for more at once");
  refusal.SetPayload(kRetryAfter,
                     absl::Cord(absl::StrCat(std::ceil(absl::ToDoubleSeconds(*wait)))));
  return refusal;
}

absl::Status Admission::JudgeNamed(std::string_view method, const auth::Principal& principal,
                                   const Message& request) {
  const auth::Requirement needs = auth::RequirementOf(method);
  if (!needs.field.empty()) {
    for (const std::string& id : ValuesAt(request, needs.field)) {
      DET_RETURN_IF_ERROR(Judge(method, principal, needs.role, needs.where, id));
    }
  }
  if (!needs.also_field.empty()) {
    for (const std::string& id : ValuesAt(request, needs.also_field)) {
      DET_RETURN_IF_ERROR(Judge(method, principal, needs.also_role, needs.also, id));
    }
  }
  return absl::OkStatus();
}

absl::Status Admission::Judge(std::string_view method, const auth::Principal& principal,
                              model::Role role, Where where, const std::string& id) {
  if (principal.kind == auth::PrincipalKind::kAllocation) return JudgeTask(principal, where, id);
  // Whoever may do it everywhere need not be told where it is; the service says what is not there.
  if (principal.RoleIn(0) >= role && where != Where::kSelf) return absl::OkStatus();
  if (where == Where::kSelf) {
    if (id == absl::StrCat(principal.user.value())) return absl::OkStatus();
    if (principal.RoleIn(0) == model::Role::kClusterAdmin) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat(absl::string_view(method.data(), method.size()),
                     " of another user is for administrators of the cluster; ask one"));
  }
  if (!IsThing(where)) return absl::OkStatus();
  const absl::StatusOr<int32_t> workspace = WorkspaceOf(where, id);
  if (absl::IsNotFound(workspace.status())) return auth::DoesNotExist(where, id);
  if (!workspace.ok()) return workspace.status();
  return auth::AuthorizeIn(method, principal, role, *workspace, where, id);
}

absl::Status Admission::JudgeTask(const auth::Principal& task, Where where, const std::string& id) {
  const auto run = model::RunOf(task.allocation);
  if (!run) return NotItsOwn(task, where, id);
  const std::string experiment = absl::StrCat(run->experiment.value());
  bool own = false;
  if (where == Where::kExperiment) own = id == experiment;
  if (where == Where::kTrial) own = id == absl::StrCat(run->trial.value());
  if (where == Where::kCheckpoint) {
    // A trial may start from another experiment's.
    DET_ASSIGN_OR_RETURN(const int32_t here, WorkspaceOf(Where::kExperiment, experiment));
    const absl::StatusOr<int32_t> there = WorkspaceOf(where, id);
    if (absl::IsNotFound(there.status())) return auth::DoesNotExist(where, id);
    if (!there.ok()) return there.status();
    own = here == *there;
  }
  return own ? absl::OkStatus() : NotItsOwn(task, where, id);
}

absl::StatusOr<int32_t> Admission::WorkspaceOf(Where where, const std::string& id) {
  const absl::Time now = clock_.Now();
  std::pair<Where, std::string> key(where, id);
  {
    std::lock_guard lock(mutex_);
    const auto it = known_.find(key);
    if (it != known_.end() && now < it->second.until) return it->second.workspace;
  }
  DET_ASSIGN_OR_RETURN(const int32_t workspace, whereabouts_.WorkspaceOf(where, id));
  std::lock_guard lock(mutex_);
  if (known_.size() >= kMostRemembered) known_.clear();
  known_[std::move(key)] = {workspace, now + kRemember};
  return workspace;
}

absl::StatusOr<std::shared_ptr<void>> Admission::TakeStream(const auth::Principal& principal) {
  if (principal.kind != auth::PrincipalKind::kUser) return nullptr;
  if (!limits_.OpenStream(principal.user)) {
    absl::Status refusal = absl::ResourceExhaustedError(
        "this user has as many streams open as may be; close one (limits.streams_per_user)");
    refusal.SetPayload(kRetryAfter, absl::Cord("1"));
    return refusal;
  }
  return std::shared_ptr<void>(nullptr,
                               [this, user = principal.user](void*) { limits_.CloseStream(user); });
}

}  // namespace det::api
