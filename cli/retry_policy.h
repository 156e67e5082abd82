// Retries while a master that was reached before is unavailable, for example while it restarts.
// Created by commands that follow something; used on one thread. Prints a notice once per outage;
// never waits for a master that has not responded before.
#ifndef CLI_RETRY_POLICY_H_
#define CLI_RETRY_POLICY_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/terminal.h"

namespace det::cli {

class RetryPolicy {
 public:
  static constexpr absl::Duration kDefaultLimit = absl::Minutes(5);

  // Prints no notices if `screen` is nullptr. `limit` bounds the total pause of one outage.
  explicit RetryPolicy(Screen* screen, absl::Duration limit = kDefaultLimit)
      : screen_(screen), limit_(limit) {}

  // Called when the master has sent something new; resets the pauses.
  void OnResponse();

  // Called after a failed call. Waits and returns OK if the call can be retried; otherwise returns
  // its error, or CANCELLED when interrupted.
  absl::Status WaitBeforeRetry(const absl::Status& failed);

 private:
  Screen* const screen_;
  const absl::Duration limit_;
  bool reached_ = false;
  bool notified_ = false;
  absl::Duration next_pause_ = kFirstPause;
  absl::Duration total_pause_;

  static constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
};

}  // namespace det::cli

#endif  // CLI_RETRY_POLICY_H_
