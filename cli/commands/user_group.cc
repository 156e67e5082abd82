// det user-group create|list|describe|add-user|remove-user|change-name|delete
#include "cli/commands/user_group.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/confirm.h"
#include "cli/commands/paging.h"
#include "cli/commands/user.h"
#include "cli/format.h"
#include "cli/table.h"

namespace det::cli {
namespace {

using api::v1::Group;

constexpr int kMaxLimit = 500;

const Positional kGroup = {"GROUP", "Group name"};
const Positional kUsers = {"USERS", "User names, separated by commas"};

absl::Status AddUserIds(const ApiClient& api, const std::vector<std::string>& names,
                        google::protobuf::RepeatedField<int32_t>* ids) {
  for (const std::string& name : names) {
    DET_ASSIGN_OR_RETURN(const api::v1::User user, FindUser(api, name));
    ids->Add(user.id());
  }
  return absl::OkStatus();
}

std::vector<std::string> ReadUsers(const Invocation& run) {
  return absl::StrSplit(run.args.Word("USERS"), ',', absl::SkipWhitespace());
}

absl::StatusOr<int> RunGroupCreate(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::CreateGroupRequest request;
  request.set_name(run.args.Word("GROUP"));
  DET_RETURN_IF_ERROR(AddUserIds(*api, run.args.GetAll("add-user"), request.mutable_add_users()));
  api::v1::CreateGroupResponse response;
  DET_RETURN_IF_ERROR(api->Call("GroupService.CreateGroup", request, &response));
  return run.PrintResult(response, absl::StrCat("created user group ", request.name(), " (ID ",
                                                response.group().group_id(), ")\n"));
}

absl::StatusOr<int> RunGroupList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run, kMaxLimit));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetGroupsRequest request;
  request.set_limit(page.limit == 0 ? -1 : page.limit);
  request.set_offset(page.offset);
  if (const auto user = run.args.Get("groups-user-belongs-to")) {
    DET_ASSIGN_OR_RETURN(const api::v1::User found, FindUser(*api, *user));
    request.set_user_id(found.id());
  }
  api::v1::GetGroupsResponse response;
  DET_RETURN_IF_ERROR(api->Call("GroupService.GetGroups", request, &response));
  Table table({{"ID", true}, {"GROUP", false, true}, {"MEMBERS", true}});
  for (const api::v1::GroupSearchResult& each : response.groups()) {
    table.AddRow({absl::StrCat(each.group().group_id()), each.group().name(),
                  absl::StrCat(each.num_members())});
  }
  return PrintPage(run, response, response.pagination(), table, "user groups", "no user groups");
}

absl::StatusOr<int> RunGroupDescribe(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Group group, FindGroup(*api, run.args.Word("GROUP")));
  api::v1::GetGroupRequest request;
  request.set_group_id(group.group_id());
  api::v1::GetGroupResponse response;
  DET_RETURN_IF_ERROR(api->Call("GroupService.GetGroup", request, &response));
  Table table(
      {{"ID", true}, {"USER", false, true}, {"DISPLAY NAME", false, true}, {"ACTIVE"}, {"ADMIN"}});
  for (const api::v1::User& user : response.group().users()) {
    table.AddRow({absl::StrCat(user.id()), user.username(),
                  user.display_name().empty() ? "-" : user.display_name(),
                  user.active() ? "yes" : "no", user.admin() ? "yes" : "no"});
  }
  return run.PrintList(response, table,
                       absl::StrCat("user group ", group.name(), " has no members"));
}

// Changes the group of the command line with `request` and prints `done`.
absl::StatusOr<int> Update(Invocation& run, ApiClient& api, api::v1::UpdateGroupRequest request,
                           const std::string& done) {
  DET_ASSIGN_OR_RETURN(const Group group, FindGroup(api, run.args.Word("GROUP")));
  request.set_group_id(group.group_id());
  api::v1::UpdateGroupResponse response;
  DET_RETURN_IF_ERROR(api.Call("GroupService.UpdateGroup", request, &response));
  return run.PrintResult(response, done);
}

absl::StatusOr<int> RunGroupAddUser(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const std::vector<std::string> users = ReadUsers(run);
  api::v1::UpdateGroupRequest request;
  DET_RETURN_IF_ERROR(AddUserIds(*api, users, request.mutable_add_users()));
  return Update(run, *api, std::move(request),
                absl::StrCat("added ", absl::StrJoin(users, ", "), " to user group ",
                             run.args.Word("GROUP"), "\n"));
}

absl::StatusOr<int> RunGroupRemoveUser(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const std::vector<std::string> users = ReadUsers(run);
  api::v1::UpdateGroupRequest request;
  DET_RETURN_IF_ERROR(AddUserIds(*api, users, request.mutable_remove_users()));
  return Update(run, *api, std::move(request),
                absl::StrCat("removed ", absl::StrJoin(users, ", "), " from user group ",
                             run.args.Word("GROUP"), "\n"));
}

absl::StatusOr<int> RunGroupChangeName(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const std::string name = run.args.Word("NEW_NAME");
  if (name.empty()) return UsageError("NEW_NAME: expected a name, found an empty text");
  api::v1::UpdateGroupRequest request;
  request.set_name(name);
  return Update(run, *api, std::move(request),
                absl::StrCat("renamed user group ", run.args.Word("GROUP"), " to ", name, "\n"));
}

absl::StatusOr<int> RunGroupDelete(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Group group, FindGroup(*api, run.args.Word("GROUP")));
  DET_RETURN_IF_ERROR(
      Confirm(run, absl::StrCat("Delete user group ", group.name(), " and its roles?")));
  api::v1::DeleteGroupRequest request;
  request.set_group_id(group.group_id());
  api::v1::DeleteGroupResponse response;
  DET_RETURN_IF_ERROR(api->Call("GroupService.DeleteGroup", request, &response));
  return run.PrintResult(response, absl::StrCat("deleted user group ", group.name(), "\n"));
}

}  // namespace

absl::StatusOr<Group> FindGroup(const ApiClient& api, const std::string& name) {
  api::v1::GetGroupsRequest request;
  request.set_name(name);
  request.set_limit(1);
  api::v1::GetGroupsResponse response;
  DET_RETURN_IF_ERROR(api.Call("GroupService.GetGroups", request, &response));
  if (response.groups().empty()) {
    return absl::NotFoundError(
        absl::StrCat("user group \"", name, "\" not found; `det user-group list` shows all"));
  }
  return response.groups(0).group();
}

std::vector<Command> UserGroupCommands() {
  return {
      {{"user-group", "create"},
       "Create a user group",
       {kGroup},
       {{"add-user", 0, "USER", "Add this user to the group; repeatable"}},
       RunGroupCreate,
       ""},
      {{"user-group", "list"},
       "List user groups",
       {},
       PagedOptions({{"groups-user-belongs-to", 0, "USER", "Only groups of this user"}}, kMaxLimit),
       RunGroupList,
       ""},
      {{"user-group", "describe"},
       "List the members of a user group",
       {kGroup},
       {},
       RunGroupDescribe,
       ""},
      {{"user-group", "add-user"},
       "Add users to a user group",
       {kGroup, kUsers},
       {},
       RunGroupAddUser,
       ""},
      {{"user-group", "remove-user"},
       "Remove users from a user group",
       {kGroup, kUsers},
       {},
       RunGroupRemoveUser,
       ""},
      {{"user-group", "change-name"},
       "Rename a user group",
       {kGroup, {"NEW_NAME", "New name of the group"}},
       {},
       RunGroupChangeName,
       ""},
      {{"user-group", "delete"},
       "Delete a user group and its roles",
       {kGroup},
       {kYes},
       RunGroupDelete,
       ""},
  };
}

}  // namespace det::cli
