#include "master/auth/permissions.h"

#include "absl/strings/str_cat.h"

namespace det::auth {
namespace {

struct Rule {
  std::string_view prefix;
  Requirement requirement;
};

// The first rule whose prefix fits decides.
constexpr Rule kRules[] = {
    {"det.api.v1.MasterService.", {.anyone = true}},
    {"det.api.v1.AuthService.Login", {.anyone = true}},
    {"det.api.v1.", {PrincipalKind::kUser}},
    {"det.agent.v1.", {PrincipalKind::kAgent}},
    {"det.trial.v1.", {PrincipalKind::kAllocation}},
};

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
    // A prefix that ends in a method's name must be the whole of it.
    const bool whole = rule.prefix.back() != '.';
    if (whole ? method == rule.prefix : method.substr(0, rule.prefix.size()) == rule.prefix) {
      return rule.requirement;
    }
  }
  return {.nobody = true};
}

absl::Status Authorize(std::string_view method, PrincipalKind kind) {
  const Requirement requirement = RequirementOf(method);
  if (requirement.nobody) {
    return absl::PermissionDeniedError(absl::StrCat(View(method), " is open to nobody"));
  }
  if (requirement.anyone || requirement.kind == kind) return absl::OkStatus();
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
