// Tunnels of commands: what they lead to, and the addresses that they listen on.
#ifndef CLI_COMMANDS_TUNNEL_H_
#define CLI_COMMANDS_TUNNEL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/command.h"
#include "cli/connection.h"
#include "cli/tunnel.h"

namespace det::cli {

// Returns a tunnel to the service at the master that leads. With `authenticate` it has the token of
// the connection's user, which is renewed if the master rejects it.
absl::StatusOr<TunnelTarget> MakeTunnelTarget(const Connection& connection,
                                              const std::string& service, bool authenticate);

// Opens a listener on "[ADDRESS:]PORT"; the default address is 127.0.0.1. `option` names it in
// errors.
absl::StatusOr<TunnelListener> OpenListener(const std::string& option, absl::string_view text);

// Publishes ports of the first trial of an experiment on local ports, on separate threads, until
// it is destroyed.
class PublishedPorts {
 public:
  // Listens on the ports "[LOCAL:]PORT" of --publish.
  static absl::StatusOr<PublishedPorts> Open(const std::vector<std::string>& ports);
  PublishedPorts(PublishedPorts&&) noexcept;
  ~PublishedPorts();

  // Waits for the first trial, and serves.
  void Start(Invocation& run, const ApiClient& api, int experiment);

 private:
  struct State;
  explicit PublishedPorts(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace det::cli

#endif  // CLI_COMMANDS_TUNNEL_H_
