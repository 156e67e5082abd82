// The exceptions of the Trial API. Users of libtorch expect exceptions; the controller maps each to
// the way the trial ends.
#ifndef TRIAL_API_CPP_CORE_ERROR_H_
#define TRIAL_API_CPP_CORE_ERROR_H_

#include <stdexcept>
#include <string>

namespace det {

// Anything that went wrong in the Trial API; what() says what, which one, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throw it from a Trial when the hyperparameters make no sense together: the trial ends, the search
// goes on with others, nothing is restarted. Thrown as well for one that is missing or unreadable.
class InvalidHp : public Error {
 public:
  using Error::Error;
};

// The storage of checkpoints could not be asked, or not written to: what lies there may be whole.
class StorageUnreachable : public Error {
 public:
  using Error::Error;
};

// A collective operation failed, as a rule because a peer is gone. It is the consequence of what
// ended the peer, and so never the reason that a trial reports.
class PeerGone : public Error {
 public:
  using Error::Error;
};
// How the process of such a rank exits, so that the launcher looks for the one that it lost.
inline constexpr int kPeerGoneExit = 75;

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_ERROR_H_
