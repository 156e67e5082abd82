// Facts about this master and its cluster that services need: identity, configuration and
// checkpoint locations. Called by master.cc once the store is open.
#ifndef MASTER_APP_MASTER_INFO_H_
#define MASTER_APP_MASTER_INFO_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/api/services.h"
#include "master/app/config.h"
#include "master/store/interfaces/store.h"

namespace det::app {

// Also creates the cluster's checkpoint folder, if it uses one. `now`: start time of the master.
absl::Status FillMasterInfo(const Config& config, store::Store& store, const std::string& data_dir,
                            absl::Time now, api::ServiceParts* parts);

}  // namespace det::app

#endif  // MASTER_APP_MASTER_INFO_H_
