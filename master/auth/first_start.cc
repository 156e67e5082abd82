#include "master/auth/first_start.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/auth/passwords.h"
#include "master/auth/tokens.h"

namespace det::auth {
namespace {

absl::StatusOr<store::UserRecord> EnsureUser(store::Store& store, const std::string& name,
                                             bool admin) {
  absl::StatusOr<store::UserRecord> user = store.GetUserByName(name);
  if (user.ok() || !absl::IsNotFound(user.status())) return user;
  return store.PutUser({.username = name, .admin = admin, .active = true});
}

// The token in the file, or a new one that is written there; good as `session` either way, also on
// a database that does not know it yet.
absl::Status EnsureToken(store::Store& store, const std::string& path,
                         store::SessionRecord session) {
  absl::StatusOr<std::string> token = base::ReadFile(path);
  if (token.ok()) absl::StripAsciiWhitespace(&*token);
  const bool fresh = !token.ok() || token->empty();
  if (fresh) {
    if (!token.ok() && !absl::IsNotFound(token.status())) return token.status();
    token = NewToken();
  }
  session.token_hash = HashToken(*token);
  DET_RETURN_IF_ERROR(store.PutSession(session));
  return fresh ? base::WriteFileAtomically(path, absl::StrCat(*token, "\n"), 0600)
               : absl::OkStatus();
}

}  // namespace

absl::Status EnsureUsersAndTokens(store::Store& store, const std::string& data_dir,
                                  const std::string& admin_password) {
  DET_ASSIGN_OR_RETURN(store::UserRecord admin, EnsureUser(store, "admin", /*admin=*/true));
  DET_RETURN_IF_ERROR(EnsureUser(store, "determined", /*admin=*/false));
  if (!admin_password.empty() && !PasswordMatches(admin_password, admin.password_hash)) {
    DET_ASSIGN_OR_RETURN(admin.password_hash, HashPassword(admin_password));
    DET_ASSIGN_OR_RETURN(admin, store.PutUser(admin));
  }
  DET_RETURN_IF_ERROR(EnsureToken(store, data_dir + "/admin.token",
                                  {.kind = store::SessionRecord::Kind::kUser, .user = admin.id}));
  return EnsureToken(store, data_dir + "/agent.token",
                     {.kind = store::SessionRecord::Kind::kAgent, .user = admin.id});
}

}  // namespace det::auth
