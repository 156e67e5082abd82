// Signs users in and renews expired sessions. Used by commands on the main thread; a renewal runs
// on the thread of the call, which waits. Passwords leave det only as the client's hash and are not
// stored.
#ifndef CLI_SIGN_IN_H_
#define CLI_SIGN_IN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/connection.h"
#include "cli/credential.h"
#include "det/api/v1/auth.pb.h"

namespace det::cli {

// Returns the SHA-512, as 128 hexadecimal digits, of a public salt and the password; an empty
// password stays empty. Determined's clients send this hash with is_hashed.
std::string HashPassword(absl::string_view password);

// Returns INVALID_ARGUMENT unless the password has 8 characters, with an upper-case letter, a
// lower-case letter and a digit. The master cannot check this because it receives only the hash.
absl::Status CheckNewPassword(absl::string_view password);

// Returns a new password from `given` (--password), or reads it, twice on a terminal. The password
// is checked.
absl::StatusOr<std::string> ReadNewPassword(const std::optional<std::string>& given,
                                            absl::string_view whose);

// Signs the user in and stores the token for all URLs of the cluster; with `activate` the user
// becomes the active user. Returns UNAUTHENTICATED both for an unknown user and for a wrong
// password.
absl::StatusOr<api::v1::LoginResponse> SignIn(const std::vector<std::string>& urls,
                                              const std::string& user, const std::string& password,
                                              bool activate);

// Returns the credential of the connection. A rejected token is replaced with $DET_PASS, or with a
// password that is read from the terminal.
std::shared_ptr<Credential> MakeCredential(const Connection& connection);

}  // namespace det::cli

#endif  // CLI_SIGN_IN_H_
