// The communicator of a trial with one rank; operations do nothing. Created by
// Context::FromEnvironment and by tests; any thread.
#ifndef TRIAL_API_CPP_CORE_SINGLE_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_SINGLE_COMMUNICATOR_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"

namespace det::core {

std::unique_ptr<Communicator> MakeSingleCommunicator();

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_SINGLE_COMMUNICATOR_H_
