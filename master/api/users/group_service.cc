#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/group.unary.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/users/convert_user.h"
#include "master/api/users/delegation.h"
#include "master/api/users/group_members.h"
#include "master/api/users/services.h"

namespace det::api {
namespace {

constexpr int kMaxLimit = 500;
constexpr size_t kNameLimit = 1024;

template <class Ids>
std::vector<model::UserId> ToUserIds(const Ids& ids) {
  std::vector<model::UserId> users;
  for (const int32_t id : ids) users.emplace_back(id);
  return users;
}

absl::Status CheckName(const std::string& name) {
  if (name.size() <= kNameLimit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("name: expected at most ", kNameLimit, " bytes, found ", name.size()));
}

class GroupService final : public ApiService<v1::GroupService> {
 public:
  GroupService(CallPipeline& calls, store::Store& store, auth::Authenticator& authenticator)
      : ApiService(calls), store_(store), authenticator_(authenticator) {}

  grpc::ServerUnaryReactor* CreateGroup(grpc::CallbackServerContext* context,
                                        const v1::CreateGroupRequest* request,
                                        v1::CreateGroupResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const Call& call, Done done) {
                   done(Create(call, *request, response->mutable_group()));
                 });
  }

  grpc::ServerUnaryReactor* GetGroups(grpc::CallbackServerContext* context,
                                      const v1::GetGroupsRequest* request,
                                      v1::GetGroupsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) {
                   return List(caller, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* GetGroup(grpc::CallbackServerContext* context,
                                     const v1::GetGroupRequest* request,
                                     v1::GetGroupResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const store::GroupRecord group,
                                        groups().GetGroup(request->group_id()));
                   if (!SeesGroup(caller, group)) return store::NoSuchGroup(group.id);
                   return Write(group, response->mutable_group());
                 });
  }

  grpc::ServerUnaryReactor* UpdateGroup(grpc::CallbackServerContext* context,
                                        const v1::UpdateGroupRequest* request,
                                        v1::UpdateGroupResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const Call& call, Done done) {
                   done(Change(call, *request, response->mutable_group()));
                 });
  }

  grpc::ServerUnaryReactor* DeleteGroup(grpc::CallbackServerContext* context,
                                        const v1::DeleteGroupRequest* request,
                                        v1::DeleteGroupResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      const absl::Status deleted = groups().DeleteGroup(request->group_id());
      authenticator_.InvalidateAll();
      return deleted;
    });
  }

  grpc::ServerUnaryReactor* AssignMultipleGroups(
      grpc::CallbackServerContext* context, const v1::AssignMultipleGroupsRequest* request,
      v1::AssignMultipleGroupsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const Call& call, Done done) { done(Assign(call, *request)); });
  }

 private:
  store::Groups& groups() { return store_.groups(); }

  // Records who became or ceased to be a member ("group 3, add user 7").
  static void RecordMembers(const Call& call, int32_t group, const char* change,
                            const std::vector<model::UserId>& users, const absl::Status& status) {
    for (const model::UserId user : users) {
      call.RecordPart(absl::StrCat("group ", group, ", ", change, " user ", user.value()), status);
    }
  }

  absl::Status Create(const Call& call, const v1::CreateGroupRequest& request,
                      v1::GroupDetails* out) {
    DET_RETURN_IF_ERROR(CheckName(request.name()));
    const std::vector<model::UserId> users = ToUserIds(request.add_users());
    const auto created = groups().AddGroup(request.name(), users);
    if (created.ok()) RecordMembers(call, created->id, "add", users, created.status());
    return Write(created, out);
  }

  absl::Status Change(const Call& call, const v1::UpdateGroupRequest& request,
                      v1::GroupDetails* out) {
    DET_RETURN_IF_ERROR(CheckName(request.name()));
    if (!request.add_users().empty()) {
      DET_RETURN_IF_ERROR(CheckCanAddMembers(store_, call.principal(), {request.group_id()}));
    }
    store::GroupPatch patch{.add = ToUserIds(request.add_users()),
                            .remove = ToUserIds(request.remove_users())};
    if (!request.name().empty()) patch.name = request.name();
    const auto changed = groups().ChangeGroup(request.group_id(), patch);
    authenticator_.InvalidateAll();
    RecordMembers(call, request.group_id(), "add", patch.add, changed.status());
    RecordMembers(call, request.group_id(), "remove", patch.remove, changed.status());
    return Write(changed, out);
  }

  absl::Status Assign(const Call& call, const v1::AssignMultipleGroupsRequest& request) {
    const std::vector<model::UserId> users = ToUserIds(request.user_ids());
    const std::vector<int32_t> add(request.add_groups().begin(), request.add_groups().end());
    DET_RETURN_IF_ERROR(CheckCanAddMembers(store_, call.principal(), add));
    const absl::Status assigned = groups().AssignGroups(
        users, add, {request.remove_groups().begin(), request.remove_groups().end()});
    authenticator_.InvalidateAll();
    for (const int32_t group : add) {
      RecordMembers(call, group, "add", users, assigned);
    }
    for (const int32_t group : request.remove_groups()) {
      RecordMembers(call, group, "remove", users, assigned);
    }
    return assigned;
  }

  absl::Status Write(const absl::StatusOr<store::GroupRecord>& group, v1::GroupDetails* out) {
    if (!group.ok()) return group.status();
    DET_ASSIGN_OR_RETURN(*out, ToDetails(store_, *group));
    return absl::OkStatus();
  }

  absl::Status List(const auth::Principal& caller, const v1::GetGroupsRequest& request,
                    v1::GetGroupsResponse* response) {
    if (request.limit() == 0 || request.limit() > kMaxLimit) {
      return absl::InvalidArgumentError(absl::StrCat("limit: expected 1 to ", kMaxLimit,
                                                     ", or a negative number for all, found ",
                                                     request.limit()));
    }
    store::GroupQuery query;
    query.window = ToWindow(request.offset(), std::max(request.limit(), 0));
    query.name = request.name();
    if (request.user_id() != 0) query.user = model::UserId(request.user_id());
    if (!SeesAllGroups(caller)) {
      if (query.user && *query.user != caller.user) {
        return absl::PermissionDeniedError(
            "only administrators can list the groups of other users; remove user_id, or ask one");
      }
      query.user = caller.user;
    }
    DET_ASSIGN_OR_RETURN(const store::GroupPage page, groups().ListGroups(query));
    for (const store::GroupRecord& group : page.groups) {
      v1::GroupSearchResult* result = response->add_groups();
      result->mutable_group()->set_group_id(group.id);
      result->mutable_group()->set_name(group.name);
      result->set_num_members(static_cast<int32_t>(group.members.size()));
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->groups_size(), page.total);
    return absl::OkStatus();
  }

  store::Store& store_;
  auth::Authenticator& authenticator_;
};

}  // namespace

absl::StatusOr<v1::GroupDetails> ToDetails(store::Store& store, const store::GroupRecord& group) {
  v1::GroupDetails details;
  details.set_group_id(group.id);
  details.set_name(group.name);
  for (const model::UserId member : group.members) {
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, store.users().GetUser(member));
    *details.add_users() = ToProto(user);
  }
  return details;
}

bool SeesAllGroups(const auth::Principal& caller) {
  return caller.basic || caller.Holds(model::Permission::kUpdateGroup, 0) ||
         caller.HoldsAnywhere(model::Permission::kAssignRoles);
}

bool SeesGroup(const auth::Principal& caller, const store::GroupRecord& group) {
  return SeesAllGroups(caller) ||
         std::find(group.members.begin(), group.members.end(), caller.user) != group.members.end();
}

std::unique_ptr<Service> MakeGroupService(CallPipeline& calls, store::Store& store,
                                          auth::Authenticator& authenticator) {
  return std::make_unique<GroupService>(calls, store, authenticator);
}

}  // namespace det::api
