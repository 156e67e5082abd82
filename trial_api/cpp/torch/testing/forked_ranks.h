// Ranks for tests: processes on one machine that communicate through shared memory.
//
// Used by tests, before torch has started a thread. Not suitable for training, because every
// operation is a barrier.
#ifndef TRIAL_API_CPP_TORCH_TESTING_FORKED_RANKS_H_
#define TRIAL_API_CPP_TORCH_TESTING_FORKED_RANKS_H_

#include <functional>
#include <string>
#include <vector>

#include "trial_api/cpp/core/communicator.h"

namespace det::trial::testing {

// Runs `body` in `size` new processes, one per rank, and returns their results in order of rank. An
// exception of `body` becomes "error: " and its message. A single rank runs in a process, too.
// `per_node` is the number of ranks per node; 0: all.
std::vector<std::string> RunRanks(int size, const std::function<std::string(Communicator&)>& body,
                                  int per_node = 0);

}  // namespace det::trial::testing

#endif  // TRIAL_API_CPP_TORCH_TESTING_FORKED_RANKS_H_
