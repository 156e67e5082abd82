// A communicator that sums in three steps: to the first rank of each node, among these ranks, and
// back within each node. So only one rank of each node communicates with other nodes, and n ranks
// on a node use as much network bandwidth as one.
//
// Used if optimizations.hierarchical_allreduce is set. One thread at a time.
#ifndef TRIAL_API_CPP_CORE_HIERARCHICAL_COMMUNICATOR_H_
#define TRIAL_API_CPP_CORE_HIERARCHICAL_COMMUNICATOR_H_

#include <memory>

#include "trial_api/cpp/core/communicator.h"

namespace det::core {

// Collective among the ranks of `all`, which must outlive the result; operations other than sums
// use it directly. Ranks::cross_rank identifies nodes. Throws PeerGone.
std::unique_ptr<Communicator> MakeHierarchicalCommunicator(Communicator& all);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_HIERARCHICAL_COMMUNICATOR_H_
