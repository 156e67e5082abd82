// Creates the users and tokens that every cluster has: users `admin` and `determined`, a session of
// the administrator in <data_dir>/admin.token and one for agents in <data_dir>/agent.token.
//
// Called by master.cc once per start, before the master listens; blocks. Never replaces a token
// file, never logs a password.
#ifndef MASTER_AUTH_BOOTSTRAP_H_
#define MASTER_AUTH_BOOTSTRAP_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::auth {

struct InitialPasswords {
  // Passwords to set; empty: unchanged (initially none: no login with a password).
  std::string admin;
  std::string user;          // of user `determined`
  bool make = false;         // generate passwords for users without one, and write them to
                             // <data_dir>/passwords.new
  bool allow_blank = false;  // give users without a password a blank one
};

// INVALID_ARGUMENT for a weak password (passwords.h).
absl::Status EnsureUsersAndTokens(store::Store& store, const std::string& data_dir,
                                  const InitialPasswords& passwords, absl::Time now);

}  // namespace det::auth

#endif  // MASTER_AUTH_BOOTSTRAP_H_
