// Which methods begin and end the session of a browser (session_cookie.h).
#ifndef MASTER_GATEWAY_SESSION_METHODS_H_
#define MASTER_GATEWAY_SESSION_METHODS_H_

#include <string>

#include "absl/time/time.h"

namespace det::gateway {

// The gateway knows nothing else of them.
struct SessionMethods {
  std::string begin;  // "det.api.v1.AuthService.Login"; its response has a `token`
  std::string end;
  absl::Duration lifetime;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_SESSION_METHODS_H_
