// Notices that a peer is gone while a rank waits for something that does not tell: a thread meets
// the others' on a channel of its own, again and again.
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
  // Every rank makes one of its end of `channel`, which nobody else uses.
  explicit PeerWatch(std::unique_ptr<Communicator> channel);
  // Does not wait for a peer, but leaves the channel to the thread.
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  // Who is gone, in words; empty as long as nobody is.
  std::string gone() const;

 private:
  struct Shared;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_PEER_WATCH_H_
