// Tunnels to TCP services of tasks. Local bytes travel as binary frames of a websocket below the
// master's /proxy/ (docs/tasks.md). Used by the commands of tunnels and by `experiment create -p`.
#ifndef CLI_TUNNEL_H_
#define CLI_TUNNEL_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/trusted_certificates.h"

namespace det::cli {

struct TunnelTarget {
  std::string url;      // of the master, in the form of CanonicalUrl
  std::string service;  // "<task ID>" or "<task ID>:<port>"
  std::string token;    // sent as "Authorization: Bearer"; empty: not sent
  Trust trust;
};

// Returns a usage error unless the text is the name of a service.
absl::Status CheckService(const std::string& service);

// Relays between two descriptors and the service until either side has ended; the service can still
// send after the end of `in`. Blocks. Returns OK at the end, CANCELLED when interrupted, the error
// of the master with its message, UNAVAILABLE without a connection, ABORTED if it was lost.
absl::Status RelayDescriptors(const TunnelTarget& target, int in, int out);

// Accepts local TCP connections and relays each to the service. Serve() and Stop() can be called on
// different threads.
class TunnelListener {
 public:
  // Listens on a numeric address; port 0 chooses a free one.
  static absl::StatusOr<TunnelListener> Open(const std::string& address, int port);

  TunnelListener(TunnelListener&&) noexcept;
  ~TunnelListener();

  int port() const;

  // Blocks until Stop(), which returns OK, or an interrupt, which returns CANCELLED. `report` is
  // called with the error of each connection that failed.
  absl::Status Serve(const TunnelTarget& target,
                     const std::function<void(const absl::Status&)>& report);
  void Stop();

 private:
  struct State;
  explicit TunnelListener(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace det::cli

#endif  // CLI_TUNNEL_H_
