// A communicator whose sums are made in three steps: to the first rank of each node, among those,
// and back within each node. So one rank of each node speaks with other nodes, and n ranks on a
// node take as much of the network as one.
//
// Made by the Trial API of a library where optimizations.hierarchical_allreduce asks for it. One
// thread at a time.
#ifndef TRIAL_API_CPP_CORE_HIERARCHICAL_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_HIERARCHICAL_COMMUNICATOR_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"

namespace det::core {

// Collective among the ranks of `all`, which outlives the result and has operations other than sums
// done as ever. Nodes are told apart by Ranks::cross_rank. Throws PeerGone.
std::unique_ptr<Communicator> MakeHierarchicalCommunicator(Communicator& all);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_HIERARCHICAL_COMMUNICATOR_H_
