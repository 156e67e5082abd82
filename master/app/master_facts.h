// What the services are told of this master and its cluster before they start: who it is, what it
// was configured with, where checkpoints may lie. Called by master.cc, once the store is open.
#ifndef MASTER_APP_MASTER_FACTS_H_
#define MASTER_APP_MASTER_FACTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/api/rpc/edge.h"
#include "master/app/config.h"
#include "master/store/interfaces/store.h"

namespace det::app {

// Makes the folder for checkpoints, if the cluster's own is one. `now`: the start.
absl::Status FillFacts(const Config& config, store::Store& store, const std::string& data_dir,
                       absl::Time now, api::Edge* edge);

}  // namespace det::app

#endif  // MASTER_APP_MASTER_FACTS_H_
