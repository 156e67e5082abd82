// Passwords as Argon2id texts of their client hash: what people's programs send instead of the
// password, so that it is in no log and no memory of ours.
//
// Any thread; Hash and Matches take tens of milliseconds and 64 MiB on purpose, hence run on the
// PasswordQueue. Never logs a password.
#ifndef MASTER_AUTH_PASSWORDS_H_
#define MASTER_AUTH_PASSWORDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::auth {

// SHA-512, hex, of a salt known to all and the password; empty of an empty one. Existing clients
// send the same.
std::string ClientHash(const std::string& password);

// The client hash of a password as it came: in clear, or `hashed` already.
std::string ToClientHash(const std::string& password, bool hashed);

// INVALID_ARGUMENT for a password that is not to be set: a clear one of less than 8 characters or
// without upper case, lower case or digit; a blank one, unless `allow_blank`. One that came hashed
// cannot be judged.
absl::Status CheckNewPassword(const std::string& password, bool hashed, bool allow_blank);

// One that CheckNewPassword lets pass.
std::string NewPassword();

// RESOURCE_EXHAUSTED when there is not enough memory.
absl::StatusOr<std::string> HashPassword(const std::string& client_hash);

// False for an empty hash: such a user cannot log in by password; and for a blank password, unless
// `allow_blank`. Takes as long as for a real one, so that the time tells nothing.
bool PasswordMatches(const std::string& client_hash, const std::string& hash, bool allow_blank);

}  // namespace det::auth

#endif  // MASTER_AUTH_PASSWORDS_H_
