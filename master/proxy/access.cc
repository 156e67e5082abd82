#include "master/proxy/access.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/auth/permissions.h"
#include "master/core/model/permission.h"

namespace det::proxy {
namespace {

constexpr absl::Duration kCacheTime = absl::Seconds(10);

// Compares secrets in a time that does not depend on their common prefix.
bool IsEqual(const std::string& secret, const std::string& given) {
  if (secret.size() != given.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    difference |= static_cast<unsigned char>(secret[i] ^ given[i]);
  }
  return difference == 0;
}

std::vector<int64_t> GetNumbers(const Service& service, std::string_view member) {
  std::vector<int64_t> numbers;
  if (service.definition == nullptr) return numbers;
  const model::Value* value = service.definition->details.Find(member);
  const model::Value::List* list = value == nullptr ? nullptr : value->AsList();
  if (list == nullptr) return numbers;
  for (const model::Value& each : *list) {
    if (const int64_t* number = each.AsInt()) numbers.push_back(*number);
  }
  return numbers;
}

absl::Status SignInRequired() {
  return absl::UnauthenticatedError(
      "not authenticated; sign in to the dashboard, or send Authorization: Bearer <token>");
}

}  // namespace

absl::Status Access::Authorize(const Service& service, const ServiceCredentials& credentials) {
  if (service.unauthenticated) return absl::OkStatus();
  const std::string secret = GetDetail(service, "access_token");
  const std::string& given = credentials.access_token;
  if (!secret.empty() && !given.empty()) {
    if (IsEqual(secret, given)) return absl::OkStatus();
    // JupyterLab's pages send the token of its server, which they know, beside their cookies.
    if (!IsEqual(GetDetail(service, "token"), given)) {
      return absl::PermissionDeniedError(
          absl::StrCat("wrong access token for task ", service.task.value(),
                       "; open the address that the task's owner sees"));
    }
  }
  if (!credentials.authorization.empty()) return AuthorizeUser(service, credentials.authorization);
  return AuthorizeCookie(service, credentials);
}

absl::Status Access::AuthorizeCookie(const Service& service,
                                     const ServiceCredentials& credentials) {
  const std::string secret = GetDetail(service, "access_token");
  const bool has_access = !secret.empty() && IsEqual(secret, credentials.access_cookie);
  if (!has_access && credentials.session_cookie.empty()) return SignInRequired();
  if (credentials.cross_site) {
    return absl::PermissionDeniedError(
        "pages of other origins may not use this service with the browser's session");
  }
  return has_access ? absl::OkStatus() : AuthorizeUser(service, credentials.session_cookie);
}

absl::Status Access::AuthorizeUser(const Service& service, const std::string& authorization) {
  DET_ASSIGN_OR_RETURN(const auth::Principal user, authenticator_.Authenticate(authorization));
  if (user.kind != auth::PrincipalKind::kUser) return SignInRequired();
  return MayView(service, user) ? absl::OkStatus() : ServiceNotFound(service.id);
}

bool Access::MayView(const Service& service, const auth::Principal& user) {
  if (service.kind == model::TaskKind::kTrial) {
    return user.Holds(model::Permission::kViewExperimentMetadata, service.workspace);
  }
  if (!user.Holds(model::Permission::kViewNsc, service.workspace)) return false;
  // Only those who may read the shell's key may log in.
  if (service.is_terminal && user.user != service.owner &&
      !user.Holds(model::Permission::kUpdateNsc, service.workspace)) {
    return false;
  }
  return service.kind != model::TaskKind::kTensorboard || MayViewSources(service, user);
}

bool Access::MayViewSources(const Service& service, const auth::Principal& user) {
  const absl::StatusOr<std::vector<int32_t>> workspaces = FindWorkspaces(service);
  if (!workspaces.ok()) return false;
  return std::all_of(workspaces->begin(), workspaces->end(), [&](int32_t workspace) {
    return user.Holds(model::Permission::kViewExperimentArtifacts, workspace);
  });
}

absl::StatusOr<std::vector<int32_t>> Access::FindWorkspaces(const Service& service) {
  const absl::Time now = clock_.Now();
  {
    std::lock_guard lock(mutex_);
    std::erase_if(workspaces_, [&](const auto& each) { return each.second.until <= now; });
    const auto found = workspaces_.find(service.task);
    if (found != workspaces_.end()) return found->second.workspaces;
  }
  std::vector<int32_t> workspaces;
  const auto add = [&](const absl::StatusOr<int32_t>& workspace) -> absl::Status {
    if (absl::IsNotFound(workspace.status())) return absl::OkStatus();  // it was deleted
    DET_RETURN_IF_ERROR(workspace.status());
    workspaces.push_back(*workspace);
    return absl::OkStatus();
  };
  store::Projects& projects = store_.projects();
  for (const int64_t id : GetNumbers(service, "experiment_ids")) {
    DET_RETURN_IF_ERROR(
        add(projects.GetWorkspaceId(model::ExperimentId(static_cast<int32_t>(id)))));
  }
  for (const int64_t id : GetNumbers(service, "trial_ids")) {
    DET_RETURN_IF_ERROR(add(projects.GetWorkspaceId(model::TrialId(static_cast<int32_t>(id)))));
  }
  std::lock_guard lock(mutex_);
  workspaces_[service.task] = {workspaces, now + kCacheTime};
  return workspaces;
}

}  // namespace det::proxy
