// The composition root: constructs the master's objects, and destroys them in reverse order.
//
// Used by main.cc on the main thread. Contains no other logic.
#ifndef MASTER_APP_MASTER_H_
#define MASTER_APP_MASTER_H_

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "master/app/config.h"
#include "master/app/standby.h"

namespace det::app {

class Master {
 public:
  // Returns once the master serves requests; a standby, once it leads. Errors are one line and tell
  // what to do; CANCELLED if `wait_for_stop` returned true while it was standing by. `fatal` is
  // called on any thread, at most once, if the master cannot continue; the process must then exit.
  static absl::StatusOr<std::unique_ptr<Master>> Start(const Config& config,
                                                       absl::AnyInvocable<void(absl::Status)> fatal,
                                                       WaitForStop wait_for_stop);
  // Stops everything within seconds.
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
