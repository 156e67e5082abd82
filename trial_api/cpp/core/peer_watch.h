// Detects lost peers while a rank waits for an operation that does not: a thread performs barriers
// with the other ranks on a separate channel.
//
// Shared by the channels of one trial; any thread.
#ifndef TRIAL_API_CPP_CORE_PEER_WATCH_H_
#define TRIAL_API_CPP_CORE_PEER_WATCH_H_

#include <memory>
#include <string>

#include "trial_api/cpp/core/communicator.h"

namespace det::core {

class PeerWatch {
 public:
  // Every rank creates one with its end of `channel`, which must not be used otherwise.
  explicit PeerWatch(std::unique_ptr<Communicator> channel);
  // Does not wait for peers; leaves the channel to the thread.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Returns which peers are gone, as text; empty if none is.
  std::string gone() const;

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_PEER_WATCH_H_
