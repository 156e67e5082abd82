// Signing in: what becomes of a password, and what is done when a session has ended.
// Called by commands, on the main thread (a renewal on that of the call, which waits).
// Passwords leave det only as the client's hash, and are kept nowhere.
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

// SHA-512, as 128 hexadecimal digits, of a salt known to all and the password; an empty password
// stays empty. What Determined's clients send with is_hashed.
std::string ClientHash(absl::string_view password);

// INVALID_ARGUMENT says what a new password lacks: 8 characters, among them an upper-case and a
// lower-case letter and a digit. The master sees only its hash.
absl::Status CheckNewPassword(absl::string_view password);

// A new password, from `given` (--password), or asked for, twice on a terminal; checked.
absl::StatusOr<std::string> NewPassword(const std::optional<std::string>& given,
                                        absl::string_view whose);

// A session of the user, remembered for all of the cluster's addresses; with `activate` he is the
// active user there. UNAUTHENTICATED for an unknown user and a wrong password alike.
absl::StatusOr<api::v1::LoginResponse> SignIn(const std::vector<std::string>& urls,
                                              const std::string& user, const std::string& password,
                                              bool activate);

// Whom the connection's calls are made as. A refused token is replaced: by $DET_PASS, or by a
// password asked for on a terminal.
std::shared_ptr<Credential> CredentialOf(const Connection& connection);

}  // namespace det::cli

#endif  // CLI_SIGN_IN_H_
