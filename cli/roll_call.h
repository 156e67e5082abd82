// Which of several masters are there: each is asked for its health, the next one as soon as those
// before it have been silent for a moment, and they come in the order in which they answer. So one
// that was stopped or cut off, whose socket still takes what nobody reads, holds nobody up.
// Made by api_client for one call, on its thread. Does not look at what they say.
#ifndef CLI_ROLL_CALL_H_
#define CLI_ROLL_CALL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/dial.h"

namespace det::cli {

class RollCall {
 public:
  // "http://host:port" each, or https.
  explicit RollCall(const std::vector<std::string>& urls);

  // The index of the next one that answers. None when nobody is left, or those that are have been
  // silent for 10 s. CANCELLED when interrupted.
  absl::StatusOr<std::optional<size_t>> Next();

 private:
  struct Asked {
    std::string url;
    Addresses addresses{nullptr, nullptr};
    const addrinfo* next = nullptr;  // to be tried when this one refuses
    base::Fd fd;                     // invalid: not asked yet, or done
    bool connected = false;
  };

  // Asks whoever is next in turn.
  void AskOne();
  // Dials its next address; leaves it done when there is none.
  static void TryNext(Asked& asked);
  // After an event on its socket; true when it has answered.
  static bool Advance(Asked& asked);
  // Until an event or the next turn: the index of one with an event.
  absl::StatusOr<std::optional<size_t>> Wait(absl::Time deadline) const;

  std::vector<Asked> asked_;
  size_t turn_ = 0;  // up to here they have been asked
  absl::Time next_turn_ = absl::InfinitePast();
};

}  // namespace det::cli

#endif  // CLI_ROLL_CALL_H_
