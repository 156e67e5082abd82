// A service of a task that the gateway proxies: what a request presents, and what the gateway gets.
//
// The gateway asks HttpHooks::open_service for each request to /proxy/. Implemented by
// proxy::TaskProxy.
#ifndef MASTER_GATEWAY_PROXIED_SERVICE_H_
#define MASTER_GATEWAY_PROXIED_SERVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/fd.h"

namespace det::gateway {

// Each member may be empty.
struct ServiceCredentials {
  std::string authorization;   // "Bearer <token>", of the header
  std::string access_token;    // of the parameter `token`, or of `Authorization: token`
  std::string session_cookie;  // "Bearer <token>", of the browser's session
  std::string access_cookie;   // an access token that the gateway set for this service before
  // A page of another origin may have sent the cookies: they do not count.
  bool cross_site = false;
};

// A service that the caller may use.
struct OpenedService {
  // Gets a connected, non-blocking stream socket. Replies once, on any thread.
  using Dial = std::function<void(absl::AnyInvocable<void(absl::StatusOr<base::Fd>)>)>;

  bool is_tcp = false;         // other than HTTP
  std::string connection_key;  // connections with the same key lead to the same program
  Dial dial;                   // may be called several times
  // Headers for the program, such as its own token.
  std::vector<std::pair<std::string, std::string>> headers;
  // The token of the service's address; empty: it has none, and the program gets the parameter
  // `token`.
  std::string access_token;
  std::shared_ptr<void> use;  // held while the request or the websocket lasts
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_PROXIED_SERVICE_H_
