#include "master/auth/permissions.h"

#include "absl/strings/str_cat.h"

namespace det::auth {
namespace {

struct Rule {
  std::string_view methods;  // a full name, or the beginning of some before a "*"
  Requirement requirement;
};

// The first rule that fits decides.
constexpr Rule kRules[] = {
    {"det.api.v1.MasterService.*", {.anyone = true}},
    {"det.api.v1.AuthService.Login", {.anyone = true}},
    {"det.api.v1.UserService.PostUser", {.kind = PrincipalKind::kUser, .admin = true}},
    {"det.api.v1.UserService.PatchUsers", {.kind = PrincipalKind::kUser, .admin = true}},
    {"det.api.v1.AgentService.Get*", {.kind = PrincipalKind::kUser}},
    {"det.api.v1.AgentService.*", {.kind = PrincipalKind::kUser, .admin = true}},
    {"det.api.v1.ResourcePoolService.Get*", {.kind = PrincipalKind::kUser}},
    {"det.api.v1.ResourcePoolService.ListWorkspacesBoundToRP", {.kind = PrincipalKind::kUser}},
    {"det.api.v1.ResourcePoolService.*", {.kind = PrincipalKind::kUser, .admin = true}},
    {"det.api.v1.*", {.kind = PrincipalKind::kUser}},
    {"det.agent.v1.*", {.kind = PrincipalKind::kAgent}},
    {"det.trial.v1.*", {.kind = PrincipalKind::kAllocation}},
};

bool Fits(std::string_view methods, std::string_view method) {
  if (methods.back() != '*') return method == methods;
  methods.remove_suffix(1);
  return method.substr(0, methods.size()) == methods;
}

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

}  // namespace

Requirement RequirementOf(std::string_view method) {
  for (const Rule& rule : kRules) {
    if (Fits(rule.methods, method)) return rule.requirement;
  }
  return {.nobody = true};
}

absl::Status Authorize(std::string_view method, const Principal& principal) {
  const PrincipalKind kind = principal.kind;
  const Requirement requirement = RequirementOf(method);
  if (requirement.nobody) {
    return absl::PermissionDeniedError(absl::StrCat(View(method), " is open to nobody"));
  }
  if (requirement.anyone) return absl::OkStatus();
  if (requirement.kind == kind) {
    if (!requirement.admin || principal.admin) return absl::OkStatus();
    return absl::PermissionDeniedError(
        absl::StrCat(View(method), " is for administrators; ask one, or log in as one"));
  }
  if (kind == PrincipalKind::kNobody) {
    return absl::UnauthenticatedError(
        absl::StrCat(View(method), " needs the token of ", View(Noun(requirement.kind)),
                     "; log in, or send `Authorization: Bearer <token>`"));
  }
  return absl::PermissionDeniedError(absl::StrCat(View(method), " is for ",
                                                  View(Noun(requirement.kind)),
                                                  ", this token is of ", View(Noun(kind))));
}

}  // namespace det::auth
