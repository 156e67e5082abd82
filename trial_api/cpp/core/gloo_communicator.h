// The communicator for CPU slots: Gloo over TCP, with a connection between each pair of ranks.
// Created by Context::FromEnvironment and by tests. One thread at a time per communicator;
// Duplicate creates one for another thread.
#ifndef TRIAL_API_CPP_CORE_GLOO_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_GLOO_COMMUNICATOR_H_

#include <memory>
#include <string>

#include "trial_api/cpp/core/communicator.h"
#include "trial_api/cpp/core/exchange.h"

namespace det::core {

// Connects the ranks. Collective. `address` is a name or address of this machine that the other
// ranks can reach. The process ignores SIGPIPE from here on. Throws Error.
std::unique_ptr<Communicator> ConnectGloo(const Ranks& ranks, const std::string& address,
                                          Exchange& exchange);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_GLOO_COMMUNICATOR_H_
