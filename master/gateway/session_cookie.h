// The session of a browser: a token in a cookie that no script can read.
//
// A request says `X-Det-Session: cookie` when it is made by the dashboard's own script. A login
// that says so is answered with the cookie in place of the token. Other requests may have the
// cookie for their Authorization: all that say so, and those that only read. A page of elsewhere
// cannot say so without leave (AllowRequests names no such header), so it changes nothing in
// anybody's name.
//
// Used by http_exchange.cc on its threads. Does no I/O.
#ifndef MASTER_GATEWAY_SESSION_COOKIE_H_
#define MASTER_GATEWAY_SESSION_COOKIE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/gateway/http_headers.h"

namespace det::gateway {

// Whether the request is said to be the dashboard's own.
bool IsDashboardRequest(const Headers& request);

// "Bearer <token>" of the request's cookie; empty without one. `secure`: IsSecure of the request.
std::string GetCookieAuthorization(const Headers& request, bool secure);

// Whether the browser speaks TLS: to us, or to who passes it on and says X-Forwarded-Proto.
bool IsSecure(const Headers& request, bool tls);

// Values of Set-Cookie.
std::string SetSessionCookie(const std::string& token, absl::Duration lifetime, bool secure);
std::string EndSessionCookie(bool secure);

// Takes `token` out of a JSON object; nothing if it has none.
std::optional<std::string> TakeToken(std::string* json);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_SESSION_COOKIE_H_
