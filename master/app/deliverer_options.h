// How webhooks are delivered, as the master's configuration says.
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

// Without a signing key in the configuration, that of the cluster, which is made when it is first
// asked for; it then also lies in `folder`, as webhook.key, for those who check signatures.
absl::StatusOr<webhooks::DelivererOptions> ReadDelivererOptions(const Config& config,
                                                                store::Store& store,
                                                                const std::string& folder);

}  // namespace det::app

#endif  // MASTER_APP_DELIVERER_OPTIONS_H_
