// Bodies and signed headers of webhook requests (docs/webhooks.md). PURE.
#ifndef MASTER_WEBHOOKS_PAYLOAD_H_
#define MASTER_WEBHOOKS_PAYLOAD_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "master/store/interfaces/webhooks.h"

namespace det::webhooks {

// The body as JSON. `base_url`: public URL of the cluster; empty: no links.
std::string MakeBody(store::WebhookType type, const store::DeliveryRecord& delivery,
                     const std::string& base_url);

// Headers in curl's form "Name: value". The signature covers "<seconds>,<body>".
std::vector<std::string> MakeHeaders(std::string_view body, absl::Time now,
                                     std::string_view signing_key);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_PAYLOAD_H_
