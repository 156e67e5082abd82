// What a method requires, read from the option det.access of its declaration in proto/.
#include <string>

#include "det/access.pb.h"
#include "master/auth/permissions.h"
#include <google/protobuf/descriptor.h>

namespace det::auth {
namespace {

PrincipalKind ToKind(Access::Caller caller) {
  switch (caller) {
    case Access::AGENT:
      return PrincipalKind::kAgent;
    case Access::ALLOCATION:
      return PrincipalKind::kAllocation;
    default:
      return PrincipalKind::kUser;
  }
}

model::Role ToRole(Access::Role role) {
  switch (role) {
    case Access::VIEWER:
      return model::Role::kViewer;
    case Access::EDITOR:
      return model::Role::kEditor;
    case Access::WORKSPACE_ADMIN:
      return model::Role::kWorkspaceAdmin;
    case Access::CLUSTER_ADMIN:
      return model::Role::kClusterAdmin;
    default:
      return model::Role::kNone;
  }
}

Scope ToScope(Access::Scope scope) {
  switch (scope) {
    case Access::VISIBLE:
      return Scope::kVisible;
    case Access::CLUSTER:
      return Scope::kCluster;
    case Access::SELF:
      return Scope::kSelf;
    case Access::WORKSPACE:
      return Scope::kWorkspace;
    case Access::PROJECT:
      return Scope::kProject;
    case Access::PROJECT_KEY:
      return Scope::kProjectKey;
    case Access::EXPERIMENT:
      return Scope::kExperiment;
    case Access::TRIAL:
      return Scope::kTrial;
    case Access::CHECKPOINT:
      return Scope::kCheckpoint;
    case Access::JOB:
      return Scope::kJob;
    case Access::TASK:
      return Scope::kTask;
    case Access::TASK_ALLOCATION:
      return Scope::kAllocation;
    case Access::MODEL:
      return Scope::kModel;
    case Access::TEMPLATE:
      return Scope::kTemplate;
    case Access::WEBHOOK:
      return Scope::kWebhook;
    default:
      return Scope::kAnywhere;
  }
}

Need ToNeed(det::api::v1::PermissionType permission, Access::Role role) {
  const auto known = model::ToPermission(permission);
  return known ? Need(*known) : Need(ToRole(role));
}

// gRPC's own services have no options of ours: health checks and reflection are open to anyone.
bool IsBuiltIn(std::string_view method) {
  return method.starts_with("grpc.health.v1.") || method.starts_with("grpc.reflection.");
}

}  // namespace

bool HasAccessOption(const google::protobuf::MethodDescriptor& method) {
  return method.options().HasExtension(det::access);
}

Requirement GetRequirement(std::string_view method) {
  Requirement requirement;
  requirement.method = std::string(method);
  if (IsBuiltIn(method)) {
    requirement.is_public = true;
    return requirement;
  }
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(requirement.method);
  if (descriptor == nullptr || !HasAccessOption(*descriptor)) {
    requirement.is_denied = true;
    return requirement;
  }
  // The option lives as long as the process, so the views below stay valid.
  const Access& access = descriptor->options().GetExtension(det::access);
  requirement.audit_field = access.audit_field();
  requirement.always_audited = access.audited();
  requirement.never_audited = access.unaudited();
  if (access.caller() == Access::ANYONE) {
    requirement.is_public = true;
    return requirement;
  }
  requirement.kind = ToKind(access.caller());
  requirement.own_task = access.or_task();
  const Need need = ToNeed(access.permission(), access.role());
  requirement.role = need.role;
  requirement.permission = need.permission;
  requirement.scope = ToScope(access.scope());
  requirement.field = access.field();
  requirement.second_scope = ToScope(access.also().scope());
  requirement.second_field = access.also().field();
  requirement.second_need = ToNeed(access.also().permission(), access.also().role());
  requirement.read_only = access.read_only();
  requirement.creates = access.idempotent();
  requirement.audit_result_field = access.audit_created();
  return requirement;
}

Need GetElementNeed(std::string_view method) {
  if (method.find(".Delete") != method.npos) return model::Permission::kDeleteExperiment;
  return GetRequirement(method).need();
}

}  // namespace det::auth
