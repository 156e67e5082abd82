// An HTTP POST to an untrusted server: bounded in time and response size, only to allowed
// addresses, without following redirects.
//
// Called by Deliverer on its threads; blocks for at most `timeout`. Logs nothing, since a URL may
// contain a secret.
#ifndef MASTER_WEBHOOKS_POST_H_
#define MASTER_WEBHOOKS_POST_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/webhooks/address_rules.h"

namespace det::webhooks {

inline constexpr absl::Duration kPostTimeout = absl::Seconds(10);

// Checks that a webhook's URL is http or https with a host. INVALID_ARGUMENT does not repeat the
// URL.
absl::Status CheckUrl(const std::string& url);

// Returns PERMISSION_DENIED if the URL's host is a forbidden address, or localhost while loopback
// addresses are forbidden. Does not look up the addresses of other names: a delivery does.
absl::Status CheckHost(const std::string& url, const AddressRules& rules);

// OK for a 2xx response. PERMISSION_DENIED for an address that `rules` forbid; UNAVAILABLE for
// other failures, without the URL; CANCELLED once `stopping` is set.
absl::Status Post(const std::string& url, const std::vector<std::string>& headers,
                  const std::string& body, const AddressRules& rules, absl::Duration timeout,
                  const std::atomic<bool>& stopping);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_POST_H_
