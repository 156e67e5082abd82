// How the ranks of a trial tell each other one text each before they are connected: through the
// master on the cluster, through a directory off it. Called once by the communicator, on the thread
// that connects it.
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

  // Blocks until every rank has called with the same key; everyone's text in order of rank. A key
  // serves once. Throws Error when the others do not come.
  virtual std::vector<std::string> AllGather(const std::string& key, const Ranks& ranks,
                                             const std::string& mine) = 0;
};

std::unique_ptr<Exchange> MakeMasterExchange(std::shared_ptr<TrialClient> client);

// `dir` exists, is the same for all ranks, and served no other run.
std::unique_ptr<Exchange> MakeDirectoryExchange(std::string dir, std::chrono::seconds timeout);

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_EXCHANGE_H_
