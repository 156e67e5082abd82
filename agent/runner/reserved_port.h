// A free TCP port of the loopback interface, reserved for a program that is about to listen on it.
#ifndef AGENT_RUNNER_RESERVED_PORT_H_
#define AGENT_RUNNER_RESERVED_PORT_H_

#include <utility>

#include "absl/status/statusor.h"
#include "base/fd.h"

namespace det::agent {

// While this object exists, the system gives the port to nobody else, but a program that sets
// SO_REUSEADDR, as servers do, can listen on it.
class ReservedPort {
 public:
  static absl::StatusOr<ReservedPort> Reserve();

  int number() const { return number_; }

 private:
  ReservedPort(base::Fd socket, int number) : socket_(std::move(socket)), number_(number) {}

  base::Fd socket_;  // bound, not listening
  int number_;
};

}  // namespace det::agent

#endif  // AGENT_RUNNER_RESERVED_PORT_H_
