// The addresses of masters, as given by --master, and the local address on the route to them.
// Any thread.
#ifndef AGENT_LINK_MASTER_ADDRESS_H_
#define AGENT_LINK_MASTER_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/link/tls_options.h"

namespace det::agent {

struct MasterAddress {
  std::string host;
  int port = 0;
  bool tls = false;

  std::string Target() const;  // host:port; IPv6 addresses are in brackets
  std::string Url() const;
};

// Parses "http://host:port", "https://host:port" or "host:port". Returns INVALID_ARGUMENT with the
// expected form.
absl::StatusOr<MasterAddress> ParseMasterAddress(absl::string_view text);
// Parses one or more addresses, separated by commas.
absl::StatusOr<std::vector<MasterAddress>> ParseMasterAddresses(absl::string_view text);

// Checks that either all masters or none use TLS, because tasks use one setting for all, and that
// `tls` is empty if none does. Returns INVALID_ARGUMENT with the flag to change.
absl::Status CheckTls(const std::vector<MasterAddress>& masters, const TlsOptions& tls);

// Returns the local address on the route to the first reachable master. Returns UNAVAILABLE if none
// is reachable.
absl::StatusOr<std::string> FindLocalAddress(const std::vector<MasterAddress>& masters);

}  // namespace det::agent

#endif  // AGENT_LINK_MASTER_ADDRESS_H_
