#include "master/api/authz/authorizer.h"

#include <cmath>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/auth/tokens.h"
#include "master/core/model/id_text.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace det::api {
namespace {

using auth::Scope;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// How long a resource that was moved may still be authorized by its previous workspace.
constexpr absl::Duration kWorkspaceCacheTime = absl::Seconds(5);
constexpr size_t kMaxCachedWorkspaces = 10'000;
// Requests between their header and their call. More than that only cost another authentication.
constexpr size_t kMaxTickets = 10'000;

// Whether the resource is a task that is not a trial, or its allocation or job.
bool IsOfOtherTask(Scope scope, const std::string& id) {
  if (scope == Scope::kAllocation) {
    return model::ParseOtherTask(model::AllocationId(id)).has_value();
  }
  return (scope == Scope::kTask || scope == Scope::kJob) && model::IsOtherTask(model::TaskId(id));
}

// Methods for all tasks declare what they need for trials: the permission of their experiment.
// Returns what they need for other tasks.
auth::Need ForOtherTask(const auth::Need& need) {
  switch (need.permission) {
    case model::Permission::kViewExperimentMetadata:
    case model::Permission::kViewExperimentArtifacts:
      return model::Permission::kViewNsc;
    case model::Permission::kUpdateExperiment:
      return model::Permission::kUpdateNsc;
    default:
      return need;
  }
}

// Returns the value of a field, or of its element `i`; empty if it is not set or cannot be an id.
std::string GetIdText(const Message& message, const FieldDescriptor& field, int i) {
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

void CollectFieldValues(const Message& message, std::string_view path,
                        std::vector<std::string>* out) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field =
      message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (field == nullptr) return;
  const auto* r = message.GetReflection();
  const int count = field->is_repeated() ? r->FieldSize(message, field) : 1;
  for (int i = 0; i < count; ++i) {
    if (dot == path.npos) {
      std::string text = GetIdText(message, *field, i);
      if (!text.empty()) out->push_back(std::move(text));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      CollectFieldValues(field->is_repeated() ? r->GetRepeatedMessage(message, field, i)
                                              : r->GetMessage(message, field),
                         path.substr(dot + 1), out);
    }
  }
}

// Whether the scope is that of a resource, which is in a workspace.
bool IsResource(Scope scope) { return scope >= Scope::kWorkspace; }

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status OtherTaskError(const auth::Principal& task, Scope scope, const std::string& id) {
  return absl::PermissionDeniedError(absl::StrCat("the token of allocation ",
                                                  task.allocation.value(), " cannot access ",
                                                  View(auth::GetNoun(scope)), " ", id));
}

absl::Status ResourceExhausted(const std::string& message, int64_t retry_after_seconds) {
  absl::Status status = absl::ResourceExhaustedError(message);
  status.SetPayload(kRetryAfter, absl::Cord(absl::StrCat(retry_after_seconds)));
  return status;
}

}  // namespace

std::vector<std::string> GetFieldValues(const Message& request, std::string_view path) {
  std::vector<std::string> values;
  CollectFieldValues(request, path, &values);
  return values;
}

Authorization Authorizer::Authorize(const auth::Requirement& method, const Credentials& credentials,
                                    const Message& request) {
  if (method.is_public) return {};
  Authorization decision;
  if (std::optional<auth::Principal> caller = RedeemTicket(method, credentials.ticket)) {
    decision.caller = *std::move(caller);
  } else {
    decision = AuthorizeCaller(method, credentials.authorization);
  }
  if (decision.status.ok() && decision.caller.kind != auth::PrincipalKind::kAgent) {
    decision.status = AuthorizeResources(method, decision.caller, request);
  }
  return decision;
}

Authorizer::HeaderAuthorization Authorizer::AuthorizeHeader(const auth::Requirement& method,
                                                            const std::string& authorization) {
  if (method.is_public) return {};
  const int64_t invalidations = authenticator_.GetInvalidations();
  HeaderAuthorization decision{AuthorizeCaller(method, authorization), ""};
  if (decision.status.ok()) {
    decision.ticket = IssueTicket(method, decision.caller, invalidations);
  }
  return decision;
}

Authorization Authorizer::AuthorizeCaller(const auth::Requirement& method,
                                          std::string_view authorization) {
  absl::StatusOr<auth::Principal> caller = authenticator_.Authenticate(authorization);
  if (!caller.ok()) return {.status = caller.status(), .caller = {}};
  // Refused calls count, too.
  absl::Status status = CheckRate(*caller);
  if (status.ok()) status = auth::Authorize(method, *caller);
  return {.status = std::move(status), .caller = *std::move(caller)};
}

absl::Status Authorizer::CheckRate(const auth::Principal& caller) {
  if (caller.kind != auth::PrincipalKind::kUser) return absl::OkStatus();
  const auto wait = limits_.Take(caller.token_hash, clock_.Now());
  if (!wait) return absl::OkStatus();
  const auto seconds = static_cast<int64_t>(std::ceil(absl::ToDoubleSeconds(*wait)));
  return ResourceExhausted(absl::StrCat("rate limit exceeded; retry in ", seconds, " s"), seconds);
}

std::string Authorizer::IssueTicket(const auth::Requirement& method, const auth::Principal& caller,
                                    int64_t invalidations) {
  std::string ticket = auth::NewToken();
  const absl::Time now = clock_.Now();
  std::lock_guard lock(mutex_);
  if (tickets_.size() >= kMaxTickets) {
    std::erase_if(tickets_, [now](const auto& each) { return each.second.until <= now; });
  }
  if (tickets_.size() >= kMaxTickets) tickets_.clear();
  tickets_[ticket] = {method.method, caller, invalidations, now + kTicketLifetime};
  return ticket;
}

std::optional<auth::Principal> Authorizer::RedeemTicket(const auth::Requirement& method,
                                                        const std::string& ticket) {
  if (ticket.empty()) return std::nullopt;
  std::lock_guard lock(mutex_);
  const auto it = tickets_.find(ticket);
  if (it == tickets_.end()) return std::nullopt;
  Ticket found = std::move(it->second);
  tickets_.erase(it);
  if (found.method != method.method || found.until <= clock_.Now()) return std::nullopt;
  // The caller may have logged out or lost a role since.
  if (found.invalidations != authenticator_.GetInvalidations()) return std::nullopt;
  return std::move(found.caller);
}

absl::Status Authorizer::AuthorizeResources(const auth::Requirement& method,
                                            const auth::Principal& principal,
                                            const Message& request) {
  if (!method.field.empty()) {
    for (const std::string& id : GetFieldValues(request, method.field)) {
      DET_RETURN_IF_ERROR(
          AuthorizeResource(method.method, principal, method.need(), method.scope, id));
    }
  }
  if (!method.second_field.empty()) {
    for (const std::string& id : GetFieldValues(request, method.second_field)) {
      DET_RETURN_IF_ERROR(
          AuthorizeResource(method.method, principal, method.second_need, method.second_scope, id));
    }
  }
  return absl::OkStatus();
}

absl::Status Authorizer::AuthorizeResource(std::string_view method,
                                           const auth::Principal& principal, const auth::Need& need,
                                           Scope scope, const std::string& id) {
  if (principal.kind == auth::PrincipalKind::kAllocation) {
    return AuthorizeTask(principal, scope, id);
  }
  if (IsOfOtherTask(scope, id) && need.permission != ForOtherTask(need).permission) {
    return AuthorizeResource(method, principal, ForOtherTask(need), scope, id);
  }
  // What is held for the cluster holds in every workspace; the service reports resources that do
  // not exist.
  if (principal.Holds(need, 0) && scope != Scope::kSelf) return absl::OkStatus();
  if (scope == Scope::kSelf) {
    if (id == absl::StrCat(principal.user.value())) return absl::OkStatus();
    if (principal.Holds(model::Permission::kAdministrateUser, 0)) return absl::OkStatus();
    // Without roles, every user may read what others may do.
    if (principal.basic && need.role == model::Role::kNone) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat(View(method),
                     " of another user needs the role ClusterAdmin for the cluster; "
                     "ask an administrator of the cluster"));
  }
  if (!IsResource(scope)) return absl::OkStatus();
  // Bulk actions on experiments of any project check each experiment.
  if (scope == Scope::kProject && id == "-1") return absl::OkStatus();
  const absl::StatusOr<int32_t> workspace = FindWorkspace(scope, id);
  if (absl::IsNotFound(workspace.status())) return auth::ResourceNotFound(scope, id);
  if (!workspace.ok()) return workspace.status();
  if (principal.HoldsForOwn(need, *workspace)) {
    const absl::StatusOr<model::UserId> owner = workspace_resolver_.FindOwner(scope, id);
    if (owner.ok() && *owner == principal.user) return absl::OkStatus();
  }
  return auth::AuthorizeInWorkspace(method, principal, need, *workspace, scope, id);
}

absl::Status Authorizer::AuthorizeTask(const auth::Principal& task, Scope scope,
                                       const std::string& id) {
  if (const auto other = model::ParseOtherTask(task.allocation)) {
    const bool own = (scope == Scope::kTask && id == other->value()) ||
                     (scope == Scope::kAllocation && id == task.allocation.value());
    return own ? absl::OkStatus() : OtherTaskError(task, scope, id);
  }
  const auto run = model::ParseAllocationId(task.allocation);
  if (!run) return OtherTaskError(task, scope, id);
  const std::string experiment = absl::StrCat(run->experiment.value());
  bool allowed = false;
  if (scope == Scope::kExperiment) allowed = id == experiment;
  if (scope == Scope::kTrial) allowed = id == absl::StrCat(run->trial.value());
  if (scope == Scope::kTask) allowed = id == run->task.value();
  if (scope == Scope::kAllocation) allowed = id == task.allocation.value();
  if (scope == Scope::kCheckpoint) {
    // A trial may start from a checkpoint of another experiment.
    DET_ASSIGN_OR_RETURN(const int32_t own, FindWorkspace(Scope::kExperiment, experiment));
    const absl::StatusOr<int32_t> other = FindWorkspace(scope, id);
    if (absl::IsNotFound(other.status())) return auth::ResourceNotFound(scope, id);
    if (!other.ok()) return other.status();
    allowed = own == *other;
  }
  return allowed ? absl::OkStatus() : OtherTaskError(task, scope, id);
}

absl::StatusOr<int32_t> Authorizer::FindWorkspace(Scope scope, const std::string& id) {
  const absl::Time now = clock_.Now();
  std::pair<Scope, std::string> key(scope, id);
  {
    std::lock_guard lock(mutex_);
    const auto it = workspaces_.find(key);
    if (it != workspaces_.end() && now < it->second.until) return it->second.workspace;
  }
  DET_ASSIGN_OR_RETURN(const int32_t workspace, workspace_resolver_.FindWorkspace(scope, id));
  std::lock_guard lock(mutex_);
  if (workspaces_.size() >= kMaxCachedWorkspaces) workspaces_.clear();
  workspaces_[std::move(key)] = {workspace, now + kWorkspaceCacheTime};
  return workspace;
}

absl::StatusOr<std::shared_ptr<void>> Authorizer::OpenStream(const auth::Principal& principal) {
  if (principal.kind != auth::PrincipalKind::kUser) return nullptr;
  if (!limits_.OpenStream(principal.user)) {
    return ResourceExhausted(
        "too many open streams of this user (limits.streams_per_user); close one and retry", 1);
  }
  return std::shared_ptr<void>(nullptr,
                               [this, user = principal.user](void*) { limits_.CloseStream(user); });
}

}  // namespace det::api
