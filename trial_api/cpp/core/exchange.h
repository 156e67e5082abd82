// Exchange of one text per rank before the ranks are connected: through the master on the cluster,
// through a directory off the cluster. Called once by the communicator, on the thread that connects
// it.
#ifndef TRIAL_API_CPP_CORE_EXCHANGE_H_
#define TRIAL_API_CPP_CORE_EXCHANGE_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "trial_api/cpp/core/ranks.h"

namespace det::core {

class TrialClient;

class Exchange {
 public:
  virtual ~Exchange() = default;

  // Blocks until every rank has called with the same key; returns the texts of all ranks in order
  // of rank. Each key may be used once. Throws Error if other ranks do not call in time.
  virtual std::vector<std::string> AllGather(const std::string& key, const Ranks& ranks,
                                             const std::string& mine) = 0;
};

std::unique_ptr<Exchange> MakeMasterExchange(std::shared_ptr<TrialClient> client);

// `dir` must exist, be the same for all ranks, and not be used by any other run.
std::unique_ptr<Exchange> MakeDirectoryExchange(std::string dir, std::chrono::seconds timeout);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_EXCHANGE_H_
