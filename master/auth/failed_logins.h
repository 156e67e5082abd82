// Delay of a login after failed logins of the same user. A login is delayed whether its password is
// right or not, so that faster guessing reveals nothing; and never for long, so that guessing
// cannot lock a user out.
//
// Owned by PasswordQueue, under its lock. PURE.
#ifndef MASTER_AUTH_FAILED_LOGINS_H_
#define MASTER_AUTH_FAILED_LOGINS_H_

#include <map>
#include <string>

#include "absl/time/time.h"

namespace det::auth {

class FailedLogins {
 public:
  static constexpr int kFreeFailures = 5;  // consecutive failures without a delay
  static constexpr absl::Duration kInitialDelay =
      absl::Milliseconds(250);  // doubled for each further failure
  static constexpr absl::Duration kMaxDelay = absl::Seconds(8);
  static constexpr absl::Duration kForgetAfter = absl::Minutes(15);  // after the last failure
  static constexpr size_t kMaxUsers = 10'000;                        // with recorded failures

  // Names are case-insensitive; the user need not exist.
  absl::Duration GetDelay(const std::string& username, absl::Time now) const;
  void Failed(const std::string& username, absl::Time now);
  void Succeeded(const std::string& username);

 private:
  struct Failures {
    int in_a_row = 0;
    absl::Time last;
  };
  // Makes room for another user.
  void Forget(absl::Time now);

  std::map<std::string, Failures> users_;  // by lower-case name
};

}  // namespace det::auth

#endif  // MASTER_AUTH_FAILED_LOGINS_H_
