// The users and tokens that every cluster has: users `admin` and `determined`, a session of the
// administrator in <data_dir>/admin.token and one for agents in <data_dir>/agent.token.
//
// Called by master.cc once per start, before anything listens; blocks. Never replaces a token file,
// never logs a password.
#ifndef MASTER_AUTH_FIRST_START_H_
#define MASTER_AUTH_FIRST_START_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::auth {

struct FirstPasswords {
  // Set where they differ from what is; empty: stay as they are (none, at first: no login by
  // password).
  std::string admin;
  std::string user;          // of `determined`
  bool make = false;         // for those who have none yet; left in <data_dir>/passwords.new
  bool allow_blank = false;  // then those who have none get a blank one
};

// INVALID_ARGUMENT for a password that is too easy to guess (passwords.h).
absl::Status EnsureUsersAndTokens(store::Store& store, const std::string& data_dir,
                                  const FirstPasswords& passwords, absl::Time now);

}  // namespace det::auth

#endif  // MASTER_AUTH_FIRST_START_H_
