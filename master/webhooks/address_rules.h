// Which addresses webhooks may be delivered to: not those of the master's own machine and network
// unless the configuration allows them. Otherwise users who may create webhooks could reach
// services that only the master can reach.
//
// Checked for the resolved address, just before connecting. PURE.
#ifndef MASTER_WEBHOOKS_ADDRESS_RULES_H_
#define MASTER_WEBHOOKS_ADDRESS_RULES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::webhooks {

// An IPv6 address; IPv4 addresses are mapped to ::ffff:a.b.c.d.
using Address = std::array<uint8_t, 16>;

struct Network {
  Address address = {};
  int bits = 128;  // length of the prefix
  bool Contains(const Address& other) const;
};

// "10.0.0.0/8", "fd00::/8", or one address. INVALID_ARGUMENT for anything else.
absl::StatusOr<Network> ParseNetwork(std::string_view text);

struct AddressRules {
  bool allow_private = false;  // allow all addresses
  std::vector<Network> allowed;
};

// PERMISSION_DENIED for private, loopback, link-local (cloud metadata services), multicast and
// reserved addresses, also for such IPv4 addresses embedded in IPv6 ones.
absl::Status CheckAddress(const Address& address, const AddressRules& rules);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_ADDRESS_RULES_H_
