// What a webhook is sent: the body, in the form that its receiver reads, and the headers that prove
// where it comes from (docs/webhooks.md). PURE.
#ifndef MASTER_WEBHOOKS_PAYLOAD_H_
#define MASTER_WEBHOOKS_PAYLOAD_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "master/store/interfaces/webhooks.h"

namespace det::webhooks {

// JSON. `base_url`: where people open this cluster; empty: no links.
std::string MakeBody(store::WebhookType type, const store::DeliveryRecord& delivery,
                     const std::string& base_url);

// Names and values, as curl takes them: "X: y". The signature is of "<seconds>,<body>".
std::vector<std::string> MakeHeaders(std::string_view body, absl::Time now,
                                     std::string_view signing_key);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_PAYLOAD_H_
