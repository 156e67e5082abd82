// The communicator of CPU slots: Gloo over TCP, a connection between each pair of ranks. Made by
// Context::FromEnvironment and by tests. One thread at a time per communicator; Duplicate gives
// another thread its own.
#ifndef TRIAL_API_CPP_CORE_GLOO_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_GLOO_COMMUNICATOR_H_

#include <memory>
#include <string>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/exchange.h"

namespace det::core {

// Collective. `address`: a name or address of this machine that the other ranks can reach. From
// here on the process ignores SIGPIPE. Throws Error.
std::unique_ptr<Communicator> ConnectGloo(const Ranks& ranks, const std::string& address,
                                          Exchange& exchange);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_GLOO_COMMUNICATOR_H_
