// Waiting for a master that was there and has gone: it restarts, or the network does.
// Made by a command that stays with something (follow), used on one thread.
// Says once per absence that it waits; never waits for a master that never answered.
#ifndef CLI_PATIENCE_H_
#define CLI_PATIENCE_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/terminal.h"

namespace det::cli {

class Patience {
 public:
  static constexpr absl::Duration kLimit = absl::Minutes(5);

  // Without a screen it says nothing. `limit` bounds the pauses of one absence together.
  explicit Patience(Screen* screen, absl::Duration limit = kLimit)
      : screen_(screen), limit_(limit) {}

  // The master answered, with something new.
  void Answered();

  // After a call that failed: pauses, and OK if it may be tried again; else its error, or CANCELLED
  // when interrupted.
  absl::Status Pause(const absl::Status& failed);

 private:
  Screen* const screen_;
  const absl::Duration limit_;
  bool reached_ = false;
  bool said_ = false;
  absl::Duration next_ = kFirst;
  absl::Duration paused_;

  static constexpr absl::Duration kFirst = absl::Milliseconds(100);
};

}  // namespace det::cli

#endif  // CLI_PATIENCE_H_
