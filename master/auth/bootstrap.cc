#include "master/auth/bootstrap.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/auth/passwords.h"
#include "master/auth/tokens.h"

namespace det::auth {
namespace {

absl::StatusOr<store::UserRecord> EnsureUser(store::Store& store, const std::string& name,
                                             bool admin, absl::Time now) {
  absl::StatusOr<store::UserRecord> user = store.users().GetUserByName(name);
  if (user.ok() || !absl::IsNotFound(user.status())) return user;
  store::UserRecord record;
  record.username = name;
  record.admin = admin;
  record.modified_at = now;
  return store.users().AddUser(record, admin ? model::Role::kNone : model::Role::kEditor);
}

absl::Status SetPassword(store::Store& store, const store::UserRecord& user,
                         const std::string& client_hash, absl::Time now) {
  store::UserPatch patch;
  DET_ASSIGN_OR_RETURN(patch.password_hash, HashPassword(client_hash));
  DET_RETURN_IF_ERROR(store.users().ChangeUser(user.id, patch, now).status());
  return store.access().DeleteLogins(user.id, /*keep=*/"");
}

// Whether to set a password: a requested one, or the first one.
bool HasNoPassword(const store::UserRecord& user, const std::string& password) {
  if (password.empty()) return user.password_hash.empty() && !user.remote;
  return !PasswordMatches(ClientHash(password), user.password_hash, /*allow_blank=*/false);
}

// Returns the password of `user` in passwords.new, and adds a line if there is none. So a password
// that was written by a start that crashed before setting it is used now.
std::string MakePassword(const std::string& username, std::string& text) {
  const std::string label = absl::StrCat(username, " password: ");
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, label)) return std::string(line);
  }
  const std::string made = NewPassword();
  absl::StrAppend(&text, label, made, "\n");
  return made;
}

absl::Status EnsurePassword(store::Store& store, const std::string& data_dir,
                            const store::UserRecord& user, const std::string& password,
                            const InitialPasswords& passwords, absl::Time now) {
  if (!HasNoPassword(user, password)) return absl::OkStatus();
  if (!password.empty()) {
    const absl::Status good = CheckNewPassword(password, /*hashed=*/false, /*allow_blank=*/false);
    if (good.ok()) return SetPassword(store, user, ClientHash(password), now);
    return absl::InvalidArgumentError(
        absl::StrCat("first password of user ", user.username, ": ", good.message()));
  }
  if (passwords.allow_blank) return SetPassword(store, user, "", now);
  if (!passwords.make) return absl::OkStatus();
  const std::string path = data_dir + "/passwords.new";
  absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
  std::string lines = text.ok() ? *std::move(text) : "";
  const std::string made = MakePassword(user.username, lines);
  DET_RETURN_IF_ERROR(base::WriteFileAtomically(path, lines, 0600));
  return SetPassword(store, user, ClientHash(made), now);
}

// Returns the token in the file, or writes a new one. Stores its session in either case, since the
// database may not know the token yet.
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
  DET_RETURN_IF_ERROR(store.access().PutSession(session).status());
  return fresh ? base::WriteFileAtomically(path, absl::StrCat(*token, "\n"), 0600)
               : absl::OkStatus();
}

}  // namespace

absl::Status EnsureUsersAndTokens(store::Store& store, const std::string& data_dir,
                                  const InitialPasswords& passwords, absl::Time now) {
  DET_ASSIGN_OR_RETURN(const auto admin, EnsureUser(store, "admin", /*admin=*/true, now));
  DET_ASSIGN_OR_RETURN(const auto user, EnsureUser(store, "determined", /*admin=*/false, now));
  DET_RETURN_IF_ERROR(EnsurePassword(store, data_dir, admin, passwords.admin, passwords, now));
  DET_RETURN_IF_ERROR(EnsurePassword(store, data_dir, user, passwords.user, passwords, now));
  DET_RETURN_IF_ERROR(EnsureToken(store, data_dir + "/admin.token",
                                  {.kind = store::SessionRecord::Kind::kUser,
                                   .user = admin.id,
                                   .expires_at = {},
                                   .created_at = now}));
  return EnsureToken(store, data_dir + "/agent.token",
                     {.kind = store::SessionRecord::Kind::kAgent,
                      .user = admin.id,
                      .expires_at = {},
                      .created_at = now});
}

}  // namespace det::auth
