#include "master/auth/permissions.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace det::auth {
namespace {

using model::Role;

std::string_view Noun(PrincipalKind kind) {
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

absl::Status TooLittle(std::string_view method, Role role, const std::string& place,
                       std::string_view whom) {
  return absl::PermissionDeniedError(absl::StrCat(
      View(method), " needs the role ", View(ToString(role)), place, "; ask ", View(whom)));
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

std::string_view Noun(Where where) {
  switch (where) {
    case Where::kAnywhere:
    case Where::kVisible:
    case Where::kCluster:
      return "";
    case Where::kSelf:
      return "user";
    case Where::kWorkspace:
      return "workspace";
    case Where::kProject:
    case Where::kProjectKey:
      return "project";
    case Where::kExperiment:
      return "experiment";
    case Where::kTrial:
      return "trial";
    case Where::kCheckpoint:
      return "checkpoint";
    case Where::kJob:
      return "job";
    case Where::kTask:
      return "task";
    case Where::kAllocation:
      return "allocation";
    case Where::kModel:
      return "model";
    case Where::kTemplate:
      return "template";
    case Where::kWebhook:
      return "webhook";
  }
  return "";
}

absl::Status Authorize(std::string_view method, const Principal& principal) {
  const PrincipalKind kind = principal.kind;
  const Requirement requirement = RequirementOf(method);
  if (requirement.nobody) {
    return absl::PermissionDeniedError(absl::StrCat(View(method), " is open to nobody"));
  }
  if (requirement.anyone) return absl::OkStatus();
  if (kind == PrincipalKind::kNobody) {
    return absl::UnauthenticatedError(
        absl::StrCat(View(method), " needs the token of ", View(Noun(requirement.kind)),
                     "; log in, or send `Authorization: Bearer <token>`"));
  }
  if (requirement.own_task && kind == PrincipalKind::kAllocation) return absl::OkStatus();
  if (requirement.kind != kind) {
    return absl::PermissionDeniedError(absl::StrCat(View(method), " is for ",
                                                    View(Noun(requirement.kind)),
                                                    ", this token is of ", View(Noun(kind))));
  }
  if (kind != PrincipalKind::kUser) return absl::OkStatus();
  switch (requirement.where) {
    case Where::kSelf:
      if (principal.limit == Role::kNone || principal.limit >= requirement.role) break;
      return absl::PermissionDeniedError(absl::StrCat(
          View(method), " needs a token of the role ", View(ToString(requirement.role)),
          ", this one is of ", View(ToString(principal.limit)), "; log in, or take another"));
    case Where::kCluster:
      if (principal.RoleIn(0) >= requirement.role) break;
      return TooLittle(method, requirement.role, " for the cluster", kClusterAdministrators);
    default:
      if (principal.RoleAnywhere() >= requirement.role) break;
      return TooLittle(method, requirement.role, "", kClusterAdministrators);
  }
  return absl::OkStatus();
}

absl::Status AuthorizeIn(std::string_view method, const Principal& principal, Role role,
                         int32_t workspace, Where where, std::string_view id) {
  if (principal.RoleIn(workspace) >= role) return absl::OkStatus();
  if (!principal.Sees(workspace)) return DoesNotExist(where, id);
  return TooLittle(method, role, absl::StrCat(" in workspace ", workspace),
                   "one of its administrators");
}

absl::Status DoesNotExist(Where where, std::string_view id) {
  return absl::NotFoundError(absl::StrCat(View(Noun(where)), " ", View(id), " does not exist"));
}

}  // namespace det::auth
