// Ranks for tests: processes of one machine that communicate through shared memory.
//
// Called by tests, before torch has started a thread. Never for training: every operation is a
// barrier.
#ifndef TRIAL_API_CPP_TORCH_TESTING_FORKED_RANKS_H_
#define TRIAL_API_CPP_TORCH_TESTING_FORKED_RANKS_H_

#include <functional>
#include <string>
#include <vector>

#include "trial_api/cpp/core/communicator.h"

namespace det::trial::testing {

// Runs `body` in `size` new processes, one per rank, and gives what each returned, in order of
// rank. An exception of `body` becomes "error: " and its text. A single rank runs in a process,
// too. `per_node`: ranks of one node, as Ranks tells it; 0: all.
std::vector<std::string> RunRanks(int size, const std::function<std::string(Communicator&)>& body,
                                  int per_node = 0);

}  // namespace det::trial::testing

#endif  // TRIAL_API_CPP_TORCH_TESTING_FORKED_RANKS_H_
