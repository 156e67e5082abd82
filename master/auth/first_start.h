// The users and tokens that every cluster has: users `admin` and `determined`, a session of the
// administrator in <data_dir>/admin.token and one for agents in <data_dir>/agent.token.
//
// Called by master.cc once per start, before anything listens; blocks. Never replaces a token file.
#ifndef MASTER_AUTH_FIRST_START_H_
#define MASTER_AUTH_FIRST_START_H_

#include <string>

#include "absl/status/status.h"
#include "master/store/store.h"

namespace det::auth {

// `admin_password` empty: the administrator's password stays as it is (none, at first: no login by
// password).
absl::Status EnsureUsersAndTokens(store::Store& store, const std::string& data_dir,
                                  const std::string& admin_password);

}  // namespace det::auth

#endif  // MASTER_AUTH_FIRST_START_H_
