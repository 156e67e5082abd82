// The composition root: builds the master's object graph from the bottom to the top, and takes it
// down in reverse.
//
// Used by main.cc on the main thread. Never decides anything else.
#ifndef MASTER_APP_MASTER_H_
#define MASTER_APP_MASTER_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "master/app/config.h"
#include "master/app/standby.h"

namespace det::app {

class Master {
 public:
  // Returns once it answers; a standby, once it leads and answers. Errors are one line with the
  // remedy; CANCELLED when `stop_within` said so while it stood by. `fatal` is called on some
  // thread, at most once, when the master cannot go on; the process must then end.
  static absl::StatusOr<std::unique_ptr<Master>> Start(const Config& config,
                                                       absl::AnyInvocable<void(absl::Status)> fatal,
                                                       StopWithin stop_within);
  // Stops all, within seconds.
  ~Master();

  int port() const;
  const std::string& url() const;

 private:
  class Impl;
  explicit Master(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace det::app

#endif  // MASTER_APP_MASTER_H_
