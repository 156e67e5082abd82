// det token create|list|describe|edit|revoke|login
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/paging.h"
#include "cli/commands/user.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/terminal_input.h"
#include "cli/token_cache.h"
#include "det/api/v1/token.pb.h"

namespace det::cli {
namespace {

using api::v1::TokenInfo;

const Positional kToken = {"TOKEN_ID", "Access token ID"};

absl::StatusOr<int> RunTokenCreate(Invocation& run) {
  api::v1::PostAccessTokenRequest request;
  if (run.args.Has("expiration-days")) {
    DET_ASSIGN_OR_RETURN(const int days, run.args.GetInt("expiration-days", 0, -1, 100'000));
    if (days == 0) return UsageError("--expiration-days: expected at least 1, or -1 for never");
    request.set_lifespan(days < 0 ? "-1" : absl::StrCat(days * 24, "h"));
  }
  request.set_description(run.args.Get("description").value_or(""));
  request.set_role(run.args.Get("role").value_or(""));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (const std::string name = run.args.Word("USER"); !name.empty()) {
    DET_ASSIGN_OR_RETURN(const api::v1::User user, FindUser(*api, name));
    request.set_user_id(user.id());
  }
  api::v1::PostAccessTokenResponse response;
  DET_RETURN_IF_ERROR(api->Call("TokenService.PostAccessToken", request, &response));
  if (!run.json()) {
    run.screen->PrintNotice(
        absl::StrCat("created token ", response.token_id(), "; it is shown only once:"));
  }
  return run.PrintResult(response, response.token() + "\n");
}

Cell MakeTokenStateCell(const TokenInfo& token, absl::Time now) {
  if (token.revoked()) return Cell("■ revoked", Paint::kPaused, "revoked");
  const bool over = token.has_expiry() && ToTime(token.expiry()) <= now;
  if (over) return Cell("■ expired", Paint::kPaused, "expired");
  return Cell("● valid", Paint::kRunning, "valid");
}

Table TokenTable(const google::protobuf::RepeatedPtrField<TokenInfo>& tokens) {
  Table table({{"ID", true},
               {"USER ID", true},
               {"STATE"},
               {"ROLE"},
               {"CREATED"},
               {"LAST USED"},
               {"EXPIRES"},
               {"DESCRIPTION", false, true}});
  const absl::Time now = absl::Now();
  for (const TokenInfo& each : tokens) {
    table.AddRow({absl::StrCat(each.id()), absl::StrCat(each.user_id()),
                  MakeTokenStateCell(each, now), each.role().empty() ? "inherited" : each.role(),
                  MakeAgeCell(each.created_at(), now), MakeAgeCell(each.last_used_at(), now),
                  each.has_expiry() ? FormatTimestamp(each.expiry()) : "never",
                  each.description()});
  }
  return table;
}

absl::StatusOr<int> List(Invocation& run, const api::v1::GetAccessTokensRequest& request) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetAccessTokensResponse response;
  DET_RETURN_IF_ERROR(api->Call("TokenService.GetAccessTokens", request, &response));
  if (response.token_info().empty() && !request.token_ids().empty()) {
    return absl::NotFoundError(absl::StrCat("access token ",
                                            absl::StrJoin(request.token_ids(), ", "),
                                            " not found; see `det token list --show-inactive`"));
  }
  return PrintPage(run, response, response.pagination(), TokenTable(response.token_info()),
                   "tokens", "no tokens; create one: det token create");
}

absl::StatusOr<int> RunTokenList(Invocation& run) {
  api::v1::GetAccessTokensRequest request;
  request.set_username(run.args.Word("USER"));
  DET_ASSIGN_OR_RETURN(const Page page, ReadPage(run));
  request.set_limit(page.limit);
  request.set_offset(page.offset);
  request.set_show_inactive(run.args.Has("show-inactive"));
  return List(run, request);
}

absl::StatusOr<int> RunTokenDescribe(Invocation& run) {
  api::v1::GetAccessTokensRequest request;
  request.set_show_inactive(true);
  for (const std::string& word : run.args.Words("TOKEN_ID")) {
    int id = 0;
    if (!absl::SimpleAtoi(word, &id) || id < 1) {
      return UsageError(absl::StrCat("TOKEN_ID: expected a number, found \"", word, "\""));
    }
    request.add_token_ids(id);
  }
  return List(run, request);
}

absl::StatusOr<int> Patch(Invocation& run, api::v1::PatchAccessTokenRequest request,
                          const char* done) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("TOKEN_ID"));
  request.set_token_id(id);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::PatchAccessTokenResponse response;
  DET_RETURN_IF_ERROR(api->Call("TokenService.PatchAccessToken", request, &response));
  return run.PrintResult(response, absl::StrCat(done, " token ", id, "\n"));
}

absl::StatusOr<int> RunTokenEdit(Invocation& run) {
  const std::optional<std::string> text = run.args.Get("description");
  if (!text) return UsageError("token edit needs --description TEXT");
  api::v1::PatchAccessTokenRequest request;
  request.set_description(*text);
  return Patch(run, request, "changed");
}

absl::StatusOr<int> RunRevoke(Invocation& run) {
  api::v1::PatchAccessTokenRequest request;
  request.set_set_revoked(true);
  return Patch(run, request, "revoked");
}

absl::StatusOr<int> RunTokenLogin(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const Connection connection, run.FindConnection());
  const std::string where = absl::StrJoin(connection.urls, ",");
  std::string token = run.args.Word("TOKEN");
  if (token.empty()) {
    DET_ASSIGN_OR_RETURN(token, PromptPassword(absl::StrCat("token for ", where, ": ")));
  }
  // The call returns the user of the token and also verifies it.
  const ApiClient api(connection.urls, token);
  api::v1::GetMeResponse me;
  DET_RETURN_IF_ERROR(api.Call("AuthService.GetMe", api::v1::GetMeRequest(), &me));
  const std::string& name = me.user().username();
  for (const std::string& url : connection.urls) {
    DET_RETURN_IF_ERROR(SaveToken(url, name, token, /*activate=*/true));
  }
  return run.PrintResult(me, absl::StrCat("signed in as ", name, " at ", where, "\n"));
}

}  // namespace

std::vector<Command> TokenCommands() {
  return {
      {{"token", "create"},
       "Create an access token for programs",
       {{"USER", "User of the token (default: you)", /*optional=*/true}},
       {{"expiration-days", 'e', "DAYS", "Days until the token expires (default: 30); -1: never"},
        {"description", 'd', "TEXT", "Description of the token"},
        {"role", 0, "ROLE", "Maximum role of the token, such as Viewer"}},
       RunTokenCreate,
       "Only the token is printed on stdout. Programs use it as DET_USER_TOKEN."},
      {{"token", "list"},
       "List access tokens",
       {{"USER", "Only tokens of this user (default: all that you can view)", /*optional=*/true}},
       PagedOptions({{"show-inactive", 0, "", "Include revoked and expired tokens"}}),
       RunTokenList,
       ""},
      {{"token", "describe"},
       "Show access tokens",
       {{"TOKEN_ID", "Access token IDs", false, /*repeated=*/true}},
       {kCsv},
       RunTokenDescribe,
       ""},
      {{"token", "edit"},
       "Change the description of an access token",
       {kToken},
       {{"description", 'd', "TEXT", "New description"}},
       RunTokenEdit,
       ""},
      {{"token", "revoke"}, "Revoke an access token", {kToken}, {}, RunRevoke, ""},
      {{"token", "login"},
       "Sign in with an access token",
       {{"TOKEN", "Access token; if omitted, read from the terminal or stdin", /*optional=*/true}},
       {},
       RunTokenLogin,
       ""},
  };
}

}  // namespace det::cli
