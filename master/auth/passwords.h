// Passwords as Argon2id texts.
//
// Any thread; both calls take tens of milliseconds and 64 MiB on purpose. Never logs a password.
#ifndef MASTER_AUTH_PASSWORDS_H_
#define MASTER_AUTH_PASSWORDS_H_

#include <string>

#include "absl/status/statusor.h"

namespace det::auth {

// RESOURCE_EXHAUSTED when there is not enough memory.
absl::StatusOr<std::string> HashPassword(const std::string& password);

// False for an empty hash, too: such a user cannot log in by password. Takes as long as for a real
// one, so that the time tells nothing.
bool PasswordMatches(const std::string& password, const std::string& hash);

}  // namespace det::auth

#endif  // MASTER_AUTH_PASSWORDS_H_
