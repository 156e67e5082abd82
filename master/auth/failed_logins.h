// How long a login waits for its turn after others of the same user have failed: a policy. It waits
// whether its password is right or not, so that nobody learns anything by asking faster; and never
// for long, so that strangers who guess cannot shut anybody out.
//
// Held by PasswordQueue, under its lock. PURE.
#ifndef MASTER_AUTH_FAILED_LOGINS_H_
#define MASTER_AUTH_FAILED_LOGINS_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace det::auth {

class FailedLogins {
 public:
  static constexpr int kFreeFailures = 5;  // failures in a row that cost nothing
  static constexpr absl::Duration kInitialDelay = absl::Milliseconds(250);  // then doubled each time
  static constexpr absl::Duration kMaxDelay = absl::Seconds(8);
  static constexpr absl::Duration kForgetAfter = absl::Minutes(15);  // without another failure
  static constexpr size_t kMaxUsers = 10'000;                     // whose failures are remembered

  // Names in any case are one user, whether there is such a user or not.
  absl::Duration GetDelay(const std::string& username, absl::Time now) const;
  void Failed(const std::string& username, absl::Time now);
  void Succeeded(const std::string& username);

 private:
  struct Failures {
    int in_a_row = 0;
    absl::Time last;
  };
  // Makes room for one more.
  void Forget(absl::Time now);

  std::map<std::string, Failures> users_;  // by lower-case name
};

}  // namespace det::auth

#endif  // MASTER_AUTH_FAILED_LOGINS_H_
