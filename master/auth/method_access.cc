// What a method asks for, read from the option det.access of its text in proto/.
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

Where ToScope(Access::Scope scope) {
  switch (scope) {
    case Access::VISIBLE:
      return Where::kVisible;
    case Access::CLUSTER:
      return Where::kCluster;
    case Access::SELF:
      return Where::kSelf;
    case Access::WORKSPACE:
      return Where::kWorkspace;
    case Access::PROJECT:
      return Where::kProject;
    case Access::PROJECT_KEY:
      return Where::kProjectKey;
    case Access::EXPERIMENT:
      return Where::kExperiment;
    case Access::TRIAL:
      return Where::kTrial;
    case Access::CHECKPOINT:
      return Where::kCheckpoint;
    case Access::JOB:
      return Where::kJob;
    case Access::TASK:
      return Where::kTask;
    case Access::TASK_ALLOCATION:
      return Where::kAllocation;
    case Access::MODEL:
      return Where::kModel;
    case Access::TEMPLATE:
      return Where::kTemplate;
    case Access::WEBHOOK:
      return Where::kWebhook;
    default:
      return Where::kAnywhere;
  }
}

// gRPC's own services have no options of ours: health checks and reflection are open to anyone.
bool IsBuiltIn(std::string_view method) {
  return method.starts_with("grpc.health.v1.") || method.starts_with("grpc.reflection.");
}

}  // namespace

bool HasAccessOption(const google::protobuf::MethodDescriptor& method) {
  return method.options().HasExtension(det::access);
}

Requirement RequirementOf(std::string_view method) {
  if (IsBuiltIn(method)) return {.anyone = true};
  const auto* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(std::string(method));
  if (descriptor == nullptr || !HasAccessOption(*descriptor)) return {.nobody = true};
  // The option lives as long as the process, so the views below stay valid.
  const Access& access = descriptor->options().GetExtension(det::access);
  if (access.caller() == Access::ANYONE) {
    return {.anyone = true, .told = access.audit_field(), .noted = access.audited()};
  }
  return {.kind = ToKind(access.caller()),
          .own_task = access.or_task(),
          .role = ToRole(access.role()),
          .where = ToScope(access.scope()),
          .field = access.field(),
          .also = ToScope(access.also().scope()),
          .also_field = access.also().field(),
          .also_role = ToRole(access.also().role()),
          .reads = access.read_only(),
          .makes = access.idempotent(),
          .told = access.audit_field(),
          .made = access.audit_created(),
          .noted = access.audited()};
}

}  // namespace det::auth
