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

// "... needs the role Editor in workspace 1 (permission UPDATE_EXPERIMENT); ask ...".
absl::Status MissingError(std::string_view method, const Need& need, const std::string& place,
                          std::string_view contact) {
  const std::string permission =
      need.permission == model::Permission::kNone
          ? ""
          : absl::StrCat(" (permission ", View(model::GetInfo(need.permission).api_name), ")");
  return absl::PermissionDeniedError(absl::StrCat(View(method), " needs the role ",
                                                  View(ToString(need.role)), place, permission,
                                                  "; ask ", View(contact)));
}

constexpr std::string_view kClusterAdministrators = "an administrator of the cluster";

}  // namespace

bool Principal::Has(const WorkspaceRole& held, const Need& need) const {
  if (need.permission != model::Permission::kNone) {
    return held.GetPermissions().contains(need.permission) &&
           (limit == Role::kNone || model::GetPermissions(limit).contains(need.permission));
  }
  if (need.role <= Role::kViewer) return !held.GetPermissions().empty();
  return ToRole(held.role) >= need.role && (limit == Role::kNone || limit >= need.role);
}

bool Principal::Holds(const Need& need, int32_t workspace) const {
  if (admin && Has({.workspace = 0, .role = Role::kClusterAdmin}, need)) return true;
  return std::any_of(roles.begin(), roles.end(), [&](const WorkspaceRole& each) {
    return (each.workspace == 0 || each.workspace == workspace) && Has(each, need);
  });
}

bool Principal::HoldsAnywhere(const Need& need) const {
  return Holds(need, 0) || std::any_of(roles.begin(), roles.end(), [&](const WorkspaceRole& each) {
           return Has(each, need) || each.own.contains(need.permission);
         });
}

bool Principal::HoldsForOwn(const Need& need, int32_t workspace) const {
  if (limit != Role::kNone && !model::GetPermissions(limit).contains(need.permission)) return false;
  return std::any_of(roles.begin(), roles.end(), [&](const WorkspaceRole& each) {
    return (each.workspace == 0 || each.workspace == workspace) &&
           each.own.contains(need.permission);
  });
}

model::PermissionSet Principal::GetPermissions(int32_t workspace) const {
  model::PermissionSet held;
  if (admin) held |= model::GetPermissions(Role::kClusterAdmin);
  for (const WorkspaceRole& each : roles) {
    if (each.workspace == 0 || each.workspace == workspace) held |= each.GetPermissions();
  }
  return limit == Role::kNone ? held : held & model::GetPermissions(limit);
}

Role Principal::RoleIn(int32_t workspace) const {
  Role highest = admin ? Role::kClusterAdmin : Role::kNone;
  for (const WorkspaceRole& each : roles) {
    if (each.workspace == 0 || each.workspace == workspace) {
      highest = std::max(highest, ToRole(each.role));
    }
  }
  return limit == Role::kNone ? highest : std::min(highest, limit);
}

Role Principal::RoleAnywhere() const {
  Role highest = RoleIn(0);
  for (const WorkspaceRole& each : roles) highest = std::max(highest, RoleIn(each.workspace));
  return highest;
}

std::optional<std::vector<int32_t>> Principal::Visible(const Need& need) const {
  if (Holds(need, 0)) return std::nullopt;
  std::vector<int32_t> visible;
  for (const WorkspaceRole& each : roles) {
    if (Has(each, need)) visible.push_back(each.workspace);
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
  const Need need = requirement.need();
  switch (requirement.scope) {
    case Scope::kSelf:
      if (principal.basic && requirement.permission != model::Permission::kNone &&
          !principal.Holds(need, 0)) {
        return MissingError(method, need, " for the cluster", kClusterAdministrators);
      }
      // A program of a task must not create what outlives the token: other tokens, passwords.
      if (!principal.allocation.value().empty() && requirement.role > Role::kViewer) {
        return absl::PermissionDeniedError(absl::StrCat(
            View(method), " cannot be called with the token of a task; log in instead"));
      }
      if (principal.limit == Role::kNone || principal.limit >= requirement.role) break;
      return absl::PermissionDeniedError(
          absl::StrCat(View(method), " needs a token of the role ",
                       View(ToString(requirement.role)), ", but this one has the role ",
                       View(ToString(principal.limit)), "; log in, or use another token"));
    case Scope::kCluster:
      if (principal.Holds(need, 0)) break;
      return MissingError(method, need, " for the cluster", kClusterAdministrators);
    default:
      if (principal.HoldsAnywhere(need)) break;
      return MissingError(method, need, "", kClusterAdministrators);
  }
  return absl::OkStatus();
}

absl::Status AuthorizeInWorkspace(std::string_view method, const Principal& principal,
                                  const Need& need, int32_t workspace, Scope scope,
                                  std::string_view id) {
  if (principal.Holds(need, workspace)) return absl::OkStatus();
  if (!principal.Sees(workspace) || need.role <= Role::kViewer) return ResourceNotFound(scope, id);
  return MissingError(method, need, absl::StrCat(" in workspace ", workspace),
                      "one of its administrators");
}

absl::Status ResourceNotFound(Scope scope, std::string_view id) {
  return absl::NotFoundError(absl::StrCat(View(GetNoun(scope)), " ", View(id), " not found"));
}

}  // namespace det::auth
