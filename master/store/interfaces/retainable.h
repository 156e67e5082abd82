// What retention looks at, from the rows. Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_RETAINABLE_H_
#define MASTER_STORE_INTERFACES_RETAINABLE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "master/core/experiment/retention.h"
#include "master/store/interfaces/store.h"

namespace det::store {

// The experiment's checkpoints that are COMPLETED or PARTIALLY_DELETED, oldest first. Damaged ones
// are left to people.
absl::StatusOr<std::vector<experiment::Retainable>> ListRetainable(Store& store,
                                                                   model::ExperimentId id);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_RETAINABLE_H_
