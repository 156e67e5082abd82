#include "master/webhooks/address_rules.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace det::webhooks {
namespace {

constexpr int kMappedBits = 96;

// Non-global entries of IANA's special-purpose address registries.
constexpr const char* kSpecialNetworks[] = {
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
    "::/96",         "64:ff9b:1::/48",  "100::/64",       "2001::/23",      "2001:db8::/32",
    "fc00::/7",      "fe80::/10",       "fec0::/10",      "ff00::/8",
};

const std::vector<Network>& SpecialNetworks() {
  static const auto& all = *[] {
    auto* list = new std::vector<Network>;
    for (const char* text : kSpecialNetworks) list->push_back(*ParseNetwork(text));
    return list;
  }();
  return all;
}

bool Contains(const std::vector<Network>& networks, const Address& address) {
  return std::any_of(networks.begin(), networks.end(),
                     [&](const Network& network) { return network.Contains(address); });
}

// The IPv4 address embedded in a NAT64 or 6to4 address, as a mapped address; else the address
// itself.
Address Target(const Address& address) {
  static const Network nat64 = *ParseNetwork("64:ff9b::/96");
  static const Network six_to_four = *ParseNetwork("2002::/16");
  const bool at_end = nat64.Contains(address);
  if (!at_end && !six_to_four.Contains(address)) return address;
  Address mapped = {};
  mapped[10] = mapped[11] = 0xff;
  std::copy_n(address.begin() + (at_end ? 12 : 2), 4, mapped.begin() + 12);
  return mapped;
}

std::string ToText(const Address& address) {
  char text[INET6_ADDRSTRLEN] = "";
  static const Network mapped = *ParseNetwork("::ffff:0:0/96");
  if (mapped.Contains(address)) return ::inet_ntop(AF_INET, &address[12], text, sizeof(text));
  return ::inet_ntop(AF_INET6, address.data(), text, sizeof(text));
}

}  // namespace

bool Network::Contains(const Address& other) const {
  for (int bit = 0; bit < bits; bit += 8) {
    const int rest = std::min(bits - bit, 8);
    const auto mask = static_cast<uint8_t>(0xff << (8 - rest));
    if (((address[bit / 8] ^ other[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

absl::StatusOr<Network> ParseNetwork(std::string_view text) {
  const absl::Status bad =
      absl::InvalidArgumentError(absl::StrCat("\"", std::string(text),
                                              "\" is not a network; expected one such as "
                                              "10.0.0.0/8 or fd00::/8"));
  const size_t slash = text.find('/');
  const std::string host(text.substr(0, slash));
  Network network;
  int most = 128;
  if (::inet_pton(AF_INET, host.c_str(), &network.address[12]) == 1) {
    network.address[10] = network.address[11] = 0xff;
    most = 32;
  } else if (::inet_pton(AF_INET6, host.c_str(), network.address.data()) != 1) {
    return bad;
  }
  int bits = most;
  if (slash != text.npos &&
      (!absl::SimpleAtoi(std::string(text.substr(slash + 1)), &bits) || bits < 0 || bits > most)) {
    return bad;
  }
  network.bits = most == 32 ? kMappedBits + bits : bits;
  return network;
}

absl::Status CheckAddress(const Address& address, const AddressRules& rules) {
  const Address target = Target(address);
  if (rules.allow_private || Contains(rules.allowed, target)) return absl::OkStatus();
  if (!Contains(SpecialNetworks(), target)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "address ", ToText(target),
      " is private or reserved; to allow it, add its network to webhooks.allow_networks in the "
      "master's configuration, or set webhooks.allow_private"));
}

}  // namespace det::webhooks
