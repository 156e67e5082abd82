// Browser sessions: a token in an HttpOnly cookie.
//
// The dashboard sends `X-Det-Session: cookie` with its requests. A login with this header gets the
// cookie instead of the token. The cookie authorizes requests with this header, and read-only
// requests without it. Pages of other origins cannot send the header (AllowRequests does not list
// it), so they cannot change anything on a user's behalf (CSRF). The cookie `auth`, in which
// existing clients store their token, is accepted in the same way; the master never sets it.
//
// Used by http_exchange.cc on its threads. Does no I/O.
#ifndef MASTER_GATEWAY_SESSION_COOKIE_H_
#define MASTER_GATEWAY_SESSION_COOKIE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/gateway/http_headers.h"

namespace det::gateway {

// Whether the request has the dashboard's header.
bool IsDashboardRequest(const Headers& request);

// "Bearer <token>" from the request's cookie; empty if there is none. `secure`: IsSecure of the
// request.
std::string GetCookieAuthorization(const Headers& request, bool secure);

// Whether the browser uses TLS: to the master, or to a proxy that sets X-Forwarded-Proto.
bool IsSecure(const Headers& request, bool tls);

// Values of Set-Cookie.
std::string SetSessionCookie(const std::string& token, absl::Duration lifetime, bool secure);
std::string EndSessionCookie(bool secure);

// Removes `token` from a JSON object and returns it; nullopt if it has none.
std::optional<std::string> TakeToken(std::string* json);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_SESSION_COOKIE_H_
