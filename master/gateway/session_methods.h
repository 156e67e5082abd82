// The methods that begin and end a browser session (session_cookie.h).
#ifndef MASTER_GATEWAY_SESSION_METHODS_H_
#define MASTER_GATEWAY_SESSION_METHODS_H_

#include <string>

#include "absl/time/time.h"

namespace det::gateway {

// The gateway needs nothing else of them.
struct SessionMethods {
  std::string begin;  // "det.api.v1.AuthService.Login"; its response has a `token`
  std::string end;
  absl::Duration lifetime;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_SESSION_METHODS_H_
