// The exceptions of the Trial API. The controller converts each of them to the way in which the
// trial ends.
#ifndef TRIAL_API_CPP_CORE_ERROR_H_
#define TRIAL_API_CPP_CORE_ERROR_H_

#include <stdexcept>
#include <string>

namespace det {

// An error of the Trial API; what() contains the cause, the object and the remedy.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown by a Trial if its hyperparameters are invalid: the trial ends without a restart, and the
// search continues with other trials. Also thrown for a hyperparameter that is missing or has the
// wrong type.
class InvalidHp : public Error {
 public:
  using Error::Error;
};

// The checkpoint storage cannot be read or written; the checkpoints in it may be intact.
class StorageUnreachable : public Error {
 public:
  using Error::Error;
};

// A collective operation failed, usually because another rank has ended. It is a consequence of
// that rank's failure, so it is never reported as the reason why a trial failed.
class PeerGone : public Error {
 public:
  using Error::Error;
};
// Exit code of a process with PeerGone, so that the launcher looks for the rank that failed first.
inline constexpr int kPeerGoneExit = 75;

}  // namespace det

#endif  // TRIAL_API_CPP_CORE_ERROR_H_
