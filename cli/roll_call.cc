#include "cli/roll_call.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"

namespace det::cli {
namespace {

// As between addresses of one host (RFC 8305, "Happy Eyeballs").
constexpr absl::Duration kStagger = absl::Milliseconds(250);
constexpr absl::Duration kPatience = absl::Seconds(10);

}  // namespace

RollCall::RollCall(const std::vector<std::string>& urls) {
  for (const std::string& url : urls) asked_.emplace_back().url = url;
}

absl::StatusOr<std::optional<size_t>> RollCall::Next() {
  const absl::Time deadline = absl::Now() + kPatience;
  while (true) {
    const bool waits = std::any_of(asked_.begin(), asked_.end(),
                                   [](const Asked& asked) { return asked.fd.valid(); });
    if (turn_ < asked_.size() && (!waits || absl::Now() >= next_turn_)) {
      AskOne();
      continue;
    }
    if (!waits || absl::Now() >= deadline) return std::nullopt;
    DET_ASSIGN_OR_RETURN(const std::optional<size_t> event, Wait(deadline));
    if (event && Advance(asked_[*event])) return event;
  }
}

void RollCall::AskOne() {
  Asked& asked = asked_[turn_++];
  next_turn_ = absl::Now() + kStagger;
  absl::StatusOr<Addresses> found = Resolve(asked.url);
  if (!found.ok()) return;
  asked.addresses = *std::move(found);
  asked.next = asked.addresses.get();
  TryNext(asked);
}

void RollCall::TryNext(Asked& asked) {
  asked.fd.Close();
  asked.connected = false;
  while (asked.next != nullptr && !asked.fd.valid()) {
    absl::StatusOr<base::Fd> fd = Dial(*std::exchange(asked.next, asked.next->ai_next));
    if (fd.ok()) asked.fd = *std::move(fd);
  }
}

bool RollCall::Advance(Asked& asked) {
  if (asked.connected) {
    char byte;
    const bool answered = ::recv(asked.fd.get(), &byte, 1, 0) > 0;
    asked.fd.Close();
    return answered;
  }
  // Also to one that speaks TLS: it says so, and has answered.
  const std::string request =
      absl::StrCat("GET /health HTTP/1.1\r\nHost: ", asked.url.substr(asked.url.find("://") + 3),
                   "\r\nUser-Agent: det\r\nConnection: close\r\n\r\n");
  asked.connected = DialResult(asked.fd).ok() &&
                    ::send(asked.fd.get(), request.data(), request.size(), MSG_NOSIGNAL) ==
                        static_cast<ssize_t>(request.size());
  if (!asked.connected) TryNext(asked);
  return false;
}

absl::StatusOr<std::optional<size_t>> RollCall::Wait(absl::Time deadline) const {
  std::vector<pollfd> polled;
  for (const Asked& asked : asked_) {
    polled.push_back({asked.fd.get(), static_cast<short>(asked.connected ? POLLIN : POLLOUT), 0});
  }
  polled.push_back({InterruptFd(), POLLIN, 0});
  const absl::Time until = turn_ < asked_.size() ? std::min(deadline, next_turn_) : deadline;
  const absl::Duration left = std::max(until - absl::Now(), absl::ZeroDuration());
  const int ready =
      ::poll(polled.data(), polled.size(),
             static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)))));
  DET_RETURN_IF_ERROR(CheckInterrupt());
  if (ready <= 0) return std::nullopt;
  for (size_t i = 0; i < asked_.size(); ++i) {
    if (polled[i].revents != 0) return i;
  }
  return std::nullopt;
}

}  // namespace det::cli
