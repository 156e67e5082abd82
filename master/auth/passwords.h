// Passwords, stored as Argon2id of their client hash. Clients send the client hash instead of the
// password, so that the master never sees it.
//
// Any thread; HashPassword and PasswordMatches deliberately take tens of milliseconds and 64 MiB,
// hence run on the PasswordQueue. Never logs a password.
#ifndef MASTER_AUTH_PASSWORDS_H_
#define MASTER_AUTH_PASSWORDS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::auth {

// SHA-512, in hex, of a public salt and the password; empty for an empty password. Existing clients
// send the same hash.
std::string ClientHash(const std::string& password);

// The client hash of a password from a request, which is plaintext or already `hashed`.
std::string ToClientHash(const std::string& password, bool hashed);

// INVALID_ARGUMENT for a weak password: plaintext with less than 8 characters or without upper
// case, lower case or digits; blank, unless `allow_blank`. A hashed password cannot be checked.
absl::Status CheckNewPassword(const std::string& password, bool hashed, bool allow_blank);

// Generates a password that CheckNewPassword accepts.
std::string NewPassword();

// RESOURCE_EXHAUSTED if memory is insufficient.
absl::StatusOr<std::string> HashPassword(const std::string& client_hash);

// Returns false for an empty hash (a user who cannot log in with a password), and for a blank
// password unless `allow_blank`. Takes the same time in all cases, so that timing reveals nothing.
bool PasswordMatches(const std::string& client_hash, const std::string& hash, bool allow_blank);

}  // namespace det::auth

#endif  // MASTER_AUTH_PASSWORDS_H_
