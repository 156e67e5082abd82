// Which addresses the master connects to when it delivers: not those of its own machine and
// network, unless the configuration says so. Whoever may make a webhook would else reach what only
// the master reaches.
//
// Asked for the address that is about to be connected to, after names were resolved. PURE.
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

// Of IPv6; an IPv4 address a.b.c.d is ::ffff:a.b.c.d.
using Address = std::array<uint8_t, 16>;

struct Network {
  Address address = {};
  int bits = 128;  // of it that count
  bool Contains(const Address& other) const;
};

// "10.0.0.0/8", "fd00::/8", or one address. INVALID_ARGUMENT for anything else.
absl::StatusOr<Network> ParseNetwork(std::string_view text);

struct AddressRules {
  bool allow_private = false;  // anywhere
  std::vector<Network> allowed;
};

// PERMISSION_DENIED for what is private, loopback, link-local (where clouds answer with keys),
// multicast or reserved, also where such an IPv4 address is put into an IPv6 one.
absl::Status CheckAddress(const Address& address, const AddressRules& rules);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_ADDRESS_RULES_H_
