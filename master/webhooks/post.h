// One HTTP POST to a stranger: bounded in time and in what is read, to addresses that are allowed,
// following nobody elsewhere.
//
// Called by Deliverer on its threads; blocks for `timeout` at most. Logs nothing: a URL may hold
// a secret.
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

// Whether a webhook may have this URL: http or https, a host. INVALID_ARGUMENT does not repeat it.
absl::Status CheckUrl(const std::string& url);

// OK for an answer 2xx. PERMISSION_DENIED for an address that `rules` refuse; UNAVAILABLE says what
// went wrong otherwise, without the URL; CANCELLED once `stopping` is set.
absl::Status Post(const std::string& url, const std::vector<std::string>& headers,
                  const std::string& body, const AddressRules& rules, absl::Duration timeout,
                  const std::atomic<bool>& stopping);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_POST_H_
