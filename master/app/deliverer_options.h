// Options of webhook deliveries from the master's configuration.
//
// For master.cc, at start.
#ifndef MASTER_APP_DELIVERER_OPTIONS_H_
#define MASTER_APP_DELIVERER_OPTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "master/app/config.h"
#include "master/store/interfaces/store.h"
#include "master/webhooks/deliverer.h"

namespace det::app {

// If the configuration has no signing key, uses the cluster's key, which is generated on first use
// and also written to `folder`/webhook.key for receivers that verify signatures.
absl::StatusOr<webhooks::DelivererOptions> ReadDelivererOptions(const Config& config,
                                                                store::Store& store,
                                                                const std::string& folder);

}  // namespace det::app

#endif  // MASTER_APP_DELIVERER_OPTIONS_H_
