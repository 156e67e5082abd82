// det user list|create|login|logout|whoami|activate|deactivate|rename|edit|change-password|
// link-with-agent-user
#include "cli/commands/user.h"

#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/paging.h"
#include "cli/commands/workspace.h"
#include "cli/format.h"
#include "cli/sign_in.h"
#include "cli/table.h"
#include "cli/terminal_input.h"
#include "cli/token_cache.h"
#include "det/api/v1/user.pb.h"

namespace det::cli {
namespace {

using api::v1::User;

const Positional kUser = {"USER", "User name"};
const Option kPassword = {
    "password",     0,
    "PASSWORD",     "Password; if omitted, it is read from the terminal or stdin",
    /*instead=*/"", /*may_be_empty=*/true};

std::string YesNo(bool value) { return value ? "yes" : "no"; }

absl::StatusOr<int> RunUserList(Invocation& run) {
  api::v1::GetUsersRequest request;
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  request.set_sort_by(api::v1::GetUsersRequest::SORT_BY_USER_NAME);
  if (!run.args.Has("all")) request.set_active(true);
  api::v1::GetUsersResponse response;
  DET_RETURN_IF_ERROR(api->Call("UserService.GetUsers", request, &response));
  Table table({{"ID", true},
               {"USER", false, true},
               {"DISPLAY NAME", false, true},
               {"ACTIVE"},
               {"ADMIN"},
               {"REMOTE"},
               {"AGENT USER", false, true},
               {"LAST LOGIN"}});
  for (const User& each : response.users()) {
    table.AddRow({absl::StrCat(each.id()), each.username(),
                  each.display_name().empty() ? "-" : each.display_name(), YesNo(each.active()),
                  YesNo(each.admin()), YesNo(each.remote()), AgentUserText(each.agent_user_group()),
                  MakeAgeCell(each.last_auth_at(), absl::Now())});
  }
  return PrintPage(run, response, response.pagination(), table, "users", "no users");
}

absl::StatusOr<int> RunUserCreate(Invocation& run) {
  const std::string name = run.args.Word("USER");
  const bool remote = run.args.Has("remote");
  api::v1::PostUserRequest request;
  User& user = *request.mutable_user();
  user.set_username(name);
  user.set_active(true);
  user.set_admin(run.args.Has("admin"));
  user.set_remote(remote);
  user.set_display_name(run.args.Get("display-name").value_or(""));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (!remote) {
    DET_ASSIGN_OR_RETURN(const std::string password,
                         ReadNewPassword(run.args.Get("password"), name));
    request.set_password(HashPassword(password));
    request.set_is_hashed(true);
  }
  api::v1::PostUserResponse response;
  DET_RETURN_IF_ERROR(api->Call("UserService.PostUser", request, &response));
  return run.PrintResult(response, absl::StrCat("created user ", name, "\n"));
}

absl::StatusOr<int> RunUserLogin(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Connection connection, run.FindConnection());
  const std::string where = absl::StrJoin(connection.urls, ",");
  std::string name = run.args.Word("USER");
  if (name.empty() && run.args.Has("user")) name = connection.user;
  if (name.empty() && IsInteractive()) {
    DET_ASSIGN_OR_RETURN(name, PromptLine(absl::StrCat("user name at ", where, ": ")));
  }
  if (name.empty()) return UsageError("user login: missing USER");
  std::optional<std::string> password = run.args.Get("password");
  if (!password && name == GetEnv("DET_USER")) password = connection.password;
  if (!password) {
    DET_ASSIGN_OR_RETURN(password,
                         PromptPassword(absl::StrCat("password of ", name, " at ", where, ": ")));
  }
  DET_ASSIGN_OR_RETURN(const api::v1::LoginResponse session,
                       SignIn(connection.urls, name, *password, /*activate=*/true));
  // The token is not printed, because others may see the terminal.
  return run.PrintResult(session.user(), absl::StrCat("signed in as ", name, " at ", where, "\n"));
}

// Ends the cached session of a user. Returns false if there is none.
absl::StatusOr<bool> SignOut(const Connection& connection, const std::string& user) {
  bool any = false;
  for (const std::string& url : connection.urls) {
    const std::optional<CachedToken> cached = FindToken(url, user);
    if (!cached) continue;
    any = true;
    const ApiClient api(connection.urls, cached->token);
    api::v1::LogoutResponse response;
    const absl::Status ended = api.Call("AuthService.Logout", api::v1::LogoutRequest(), &response);
    // A session that has already ended needs no error.
    if (!ended.ok() && !absl::IsUnauthenticated(ended)) return ended;
    for (const std::string& each : connection.urls) {
      const std::optional<CachedToken> same = FindToken(each, user);
      if (same && same->token == cached->token) DET_RETURN_IF_ERROR(RemoveToken(each, user));
    }
  }
  return any;
}

absl::StatusOr<int> RunLogout(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Connection connection, run.FindConnection());
  std::vector<std::string> users = {connection.user};
  if (run.args.Has("all")) {
    users.clear();
    for (const std::string& url : connection.urls) {
      for (const std::string& each : GetCachedUsers(url)) users.push_back(each);
    }
  }
  int ended = 0;
  for (const std::string& user : users) {
    DET_ASSIGN_OR_RETURN(const bool had, SignOut(connection, user));
    if (!had) continue;
    ++ended;
    run.screen->Print(absl::StrCat("signed out ", user, "\n"));
  }
  if (ended == 0) {
    run.screen->PrintNotice(absl::StrCat("not signed in at ", absl::StrJoin(connection.urls, ",")));
  }
  return kExitOk;
}

absl::StatusOr<int> RunWhoami(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetMeResponse response;
  DET_RETURN_IF_ERROR(api->Call("AuthService.GetMe", api::v1::GetMeRequest(), &response));
  const User& user = response.user();
  return run.PrintResult(
      response,
      RenderFields({{"user", user.username()},
                    {"display name", user.display_name().empty() ? "-" : user.display_name()},
                    {"administrator", YesNo(user.admin())},
                    {"at", api->addresses()}},
                   run.screen->out()));
}

// Sends a change of the user that the command line names.
absl::StatusOr<int> Patch(Invocation& run, const api::v1::PatchUser& change,
                          const std::string& message) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  const std::string name = run.args.Word("USER");
  DET_ASSIGN_OR_RETURN(const User user, FindUser(*api, name));
  api::v1::PatchUserRequest request;
  request.set_user_id(user.id());
  *request.mutable_user() = change;
  api::v1::PatchUserResponse response;
  DET_RETURN_IF_ERROR(api->Call("UserService.PatchUser", request, &response));
  return run.PrintResult(response, absl::StrCat(message, "\n"));
}

absl::StatusOr<int> RunUserActivate(Invocation& run) {
  api::v1::PatchUser change;
  change.set_active(true);
  return Patch(run, change, absl::StrCat("activated user ", run.args.Word("USER")));
}

absl::StatusOr<int> RunDeactivate(Invocation& run) {
  api::v1::PatchUser change;
  change.set_active(false);
  return Patch(run, change, absl::StrCat("deactivated user ", run.args.Word("USER")));
}

absl::StatusOr<int> RunRename(Invocation& run) {
  api::v1::PatchUser change;
  change.set_username(run.args.Word("NAME"));
  return Patch(run, change,
               absl::StrCat("renamed user ", run.args.Word("USER"), " to ", change.username()));
}

// Returns the boolean value of an option, if it was given.
absl::StatusOr<std::optional<bool>> ReadBool(const Invocation& run, const char* option) {
  const std::optional<std::string> text = run.args.Get(option);
  bool value = false;
  if (!text) return std::optional<bool>();
  if (!absl::SimpleAtob(*text, &value)) {
    return UsageError(
        absl::StrCat("--", option, ": expected true or false, found \"", *text, "\""));
  }
  return std::optional<bool>(value);
}

absl::StatusOr<int> RunUserEdit(Invocation& run) {
  api::v1::PatchUser change;
  if (const auto name = run.args.Get("username")) change.set_username(*name);
  if (const auto name = run.args.Get("display-name")) change.set_display_name(*name);
  DET_ASSIGN_OR_RETURN(const auto admin, ReadBool(run, "admin"));
  DET_ASSIGN_OR_RETURN(const auto active, ReadBool(run, "active"));
  DET_ASSIGN_OR_RETURN(const auto remote, ReadBool(run, "remote"));
  if (admin) change.set_admin(*admin);
  if (active) change.set_active(*active);
  if (remote) change.set_remote(*remote);
  if (change.ByteSizeLong() == 0) {
    return UsageError(
        "user edit needs one of --username, --display-name, --admin, --active and --remote");
  }
  return Patch(run, change, absl::StrCat("changed user ", run.args.Word("USER")));
}

absl::StatusOr<int> RunChangePassword(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  User user;
  if (const std::string name = run.args.Word("USER"); !name.empty()) {
    DET_ASSIGN_OR_RETURN(user, FindUser(*api, name));
  } else {
    api::v1::GetMeResponse me;
    DET_RETURN_IF_ERROR(api->Call("AuthService.GetMe", api::v1::GetMeRequest(), &me));
    user = me.user();
  }
  DET_ASSIGN_OR_RETURN(const std::string password,
                       ReadNewPassword(run.args.Get("password"), user.username()));
  api::v1::SetUserPasswordRequest request;
  request.set_user_id(user.id());
  request.set_password(HashPassword(password));
  api::v1::SetUserPasswordResponse response;
  DET_RETURN_IF_ERROR(api->Call("UserService.SetUserPassword", request, &response));
  return run.PrintResult(response, absl::StrCat("changed the password of ", user.username(), "\n"));
}

absl::StatusOr<int> RunLink(Invocation& run) {
  api::v1::PatchUser change;
  DET_ASSIGN_OR_RETURN(*change.mutable_agent_user_group(), ReadAgentUser(run));
  return Patch(run, change,
               absl::StrCat("tasks of ", run.args.Word("USER"), " run as ",
                            AgentUserText(change.agent_user_group())));
}

}  // namespace

absl::StatusOr<User> FindUser(const ApiClient& api, const std::string& name) {
  api::v1::GetUserByUsernameRequest request;
  request.set_username(name);
  api::v1::GetUserByUsernameResponse response;
  DET_RETURN_IF_ERROR(api.Call("UserService.GetUserByUsername", request, &response));
  return response.user();
}

const std::vector<Option>& AgentUserOptions() {
  static const auto& options = *new std::vector<Option>{
      {"agent-uid", 0, "N", "Unix user ID of the user's tasks on agents"},
      {"agent-gid", 0, "N", "Unix group ID of the user's tasks on agents"},
      {"agent-user", 0, "NAME", "Unix user name of the user's tasks on agents"},
      {"agent-group", 0, "NAME", "Unix group name of the user's tasks on agents"}};
  return options;
}

bool HasAgentUser(const Invocation& run) {
  for (const Option& option : AgentUserOptions()) {
    if (run.args.Has(option.name)) return true;
  }
  return false;
}

absl::StatusOr<api::v1::AgentUserGroup> ReadAgentUser(const Invocation& run) {
  for (const Option& option : AgentUserOptions()) {
    if (run.args.Has(option.name)) continue;
    return UsageError(
        "--agent-uid, --agent-gid, --agent-user and --agent-group must be given together; missing "
        "--" +
        option.name);
  }
  api::v1::AgentUserGroup group;
  DET_ASSIGN_OR_RETURN(const int uid, run.args.GetInt("agent-uid", 0, 0, INT32_MAX));
  DET_ASSIGN_OR_RETURN(const int gid, run.args.GetInt("agent-gid", 0, 0, INT32_MAX));
  group.set_agent_uid(uid);
  group.set_agent_gid(gid);
  group.set_agent_user(*run.args.Get("agent-user"));
  group.set_agent_group(*run.args.Get("agent-group"));
  return group;
}

std::string AgentUserText(const api::v1::AgentUserGroup& group) {
  if (group.agent_user().empty()) return "-";
  return absl::StrCat(group.agent_user(), " (", group.agent_uid(), "), ", group.agent_group(), " (",
                      group.agent_gid(), ")");
}

std::vector<Command> UserCommands() {
  const Option display = {"display-name", 0, "NAME", "Display name of the user"};
  return {
      {{"user", "list"},
       "List active users",
       {},
       PagedOptions({{"all", 'a', "", "Include deactivated users"}}),
       RunUserList,
       ""},
      {{"user", "create"},
       "Create a user",
       {kUser},
       {{"admin", 0, "", "Make the user a cluster administrator"},
        kPassword,
        display,
        {"remote", 0, "", "Create a remote user, who has no password in this cluster"}},
       RunUserCreate,
       ""},
      {{"user", "login"},
       "Sign in; later commands for this master run as this user",
       {{"USER", "User name", /*optional=*/true}},
       {kPassword},
       RunUserLogin,
       "The session is stored in ~/.config/determined/auth.json. For programs, use `det token "
       "create`."},
      {{"user", "logout"},
       "Sign out the active user, or the user of -u",
       {},
       {{"all", 'a', "", "Sign out all users that are signed in at this master"}},
       RunLogout,
       ""},
      {{"user", "whoami"}, "Show the user that det is signed in as", {}, {}, RunWhoami, ""},
      {{"user", "activate"}, "Activate a user", {kUser}, {}, RunUserActivate, ""},
      {{"user", "deactivate"},
       "Deactivate a user and revoke all sessions",
       {kUser},
       {},
       RunDeactivate,
       ""},
      {{"user", "rename"}, "Rename a user", {kUser, {"NAME", "New name"}}, {}, RunRename, ""},
      {{"user", "edit"},
       "Change a user",
       {kUser},
       {{"username", 0, "NAME", "New name"},
        display,
        {"admin", 0, "BOOL", "Whether the user is a cluster administrator: true or false"},
        {"active", 0, "BOOL", "Whether the user is active: true or false"},
        {"remote", 0, "BOOL", "Whether the user is remote: true or false"}},
       RunUserEdit,
       ""},
      {{"user", "change-password"},
       "Change your password or, as an administrator, another user's",
       {{"USER", "User name (default: you)", /*optional=*/true}},
       {kPassword},
       RunChangePassword,
       ""},
      {{"user", "link-with-agent-user"},
       "Set the Unix user for a user's tasks",
       {kUser},
       AgentUserOptions(),
       RunLink,
       ""},
  };
}

}  // namespace det::cli
