#include "master/auth/permissions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace det::auth {
namespace {

using model::Role;

std::string_view GetNoun(PrincipalKind kind) {
  switch (kind) {
    case PrincipalKind::kNobody:
      return "nobody";
    case PrincipalKind::kUser:
      return "a user";
    case PrincipalKind::kAgent:
      return "an agent";
    case PrincipalKind::kAllocation:
      return "a task";
  }
  return "";
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status RoleTooLowError(std::string_view method, Role role, const std::string& place,
                             std::string_view contact) {
  return absl::PermissionDeniedError(absl::StrCat(
      View(method), " needs the role ", View(ToString(role)), place, "; ask ", View(contact)));
}

constexpr std::string_view kClusterAdministrators = "an administrator of the cluster";

}  // namespace

Role Principal::RoleIn(int32_t workspace) const {
  Role highest = admin ? Role::kClusterAdmin : Role::kNone;
  for (const WorkspaceRole& each : roles) {
    if (each.workspace == 0 || each.workspace == workspace) highest = std::max(highest, each.role);
  }
  return limit == Role::kNone ? highest : std::min(highest, limit);
}

Role Principal::RoleAnywhere() const {
  Role highest = RoleIn(0);
  for (const WorkspaceRole& each : roles) highest = std::max(highest, RoleIn(each.workspace));
  return highest;
}

std::optional<std::vector<int32_t>> Principal::Visible() const {
  if (Sees(0)) return std::nullopt;
  std::vector<int32_t> visible;
  for (const WorkspaceRole& each : roles) {
    if (Sees(each.workspace)) visible.push_back(each.workspace);
  }
  return visible;
}

std::string_view GetNoun(Scope scope) {
  switch (scope) {
    case Scope::kAnywhere:
    case Scope::kVisible:
    case Scope::kCluster:
      return "";
    case Scope::kSelf:
      return "user";
    case Scope::kWorkspace:
      return "workspace";
    case Scope::kProject:
    case Scope::kProjectKey:
      return "project";
    case Scope::kExperiment:
      return "experiment";
    case Scope::kTrial:
      return "trial";
    case Scope::kCheckpoint:
      return "checkpoint";
    case Scope::kJob:
      return "job";
    case Scope::kTask:
      return "task";
    case Scope::kAllocation:
      return "allocation";
    case Scope::kModel:
      return "model";
    case Scope::kTemplate:
      return "template";
    case Scope::kWebhook:
      return "webhook";
  }
  return "";
}

absl::Status Authorize(const Requirement& requirement, const Principal& principal) {
  const PrincipalKind kind = principal.kind;
  const std::string_view method = requirement.method;
  if (requirement.is_denied) {
    return absl::PermissionDeniedError(absl::StrCat(View(method), " cannot be called by anyone"));
  }
  if (requirement.is_public) return absl::OkStatus();
  if (kind == PrincipalKind::kNobody) {
    return absl::UnauthenticatedError(
        absl::StrCat(View(method), " needs the token of ", View(GetNoun(requirement.kind)),
                     "; token missing: log in, or send `Authorization: Bearer <token>`"));
  }
  if (requirement.own_task && kind == PrincipalKind::kAllocation) return absl::OkStatus();
  if (requirement.kind != kind) {
    return absl::PermissionDeniedError(
        absl::StrCat(View(method), " is for ", View(GetNoun(requirement.kind)),
                     ", but this token belongs to ", View(GetNoun(kind))));
  }
  if (kind != PrincipalKind::kUser) return absl::OkStatus();
  switch (requirement.scope) {
    case Scope::kSelf:
      if (principal.limit == Role::kNone || principal.limit >= requirement.role) break;
      return absl::PermissionDeniedError(
          absl::StrCat(View(method), " needs a token of the role ",
                       View(ToString(requirement.role)), ", but this one has the role ",
                       View(ToString(principal.limit)), "; log in, or use another token"));
    case Scope::kCluster:
      if (principal.RoleIn(0) >= requirement.role) break;
      return RoleTooLowError(method, requirement.role, " for the cluster", kClusterAdministrators);
    default:
      if (principal.RoleAnywhere() >= requirement.role) break;
      return RoleTooLowError(method, requirement.role, "", kClusterAdministrators);
  }
  return absl::OkStatus();
}

absl::Status AuthorizeInWorkspace(std::string_view method, const Principal& principal, Role role,
                                  int32_t workspace, Scope scope, std::string_view id) {
  if (principal.RoleIn(workspace) >= role) return absl::OkStatus();
  if (!principal.Sees(workspace)) return ResourceNotFound(scope, id);
  return RoleTooLowError(method, role, absl::StrCat(" in workspace ", workspace),
                         "one of its administrators");
}

absl::Status ResourceNotFound(Scope scope, std::string_view id) {
  return absl::NotFoundError(absl::StrCat(View(GetNoun(scope)), " ", View(id), " not found"));
}

}  // namespace det::auth
