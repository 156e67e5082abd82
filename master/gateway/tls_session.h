// The TLS of one connection: shakes hands, then stands between the client and a connection in the
// clear that does not leave this process, and is served as any other.
//
// Called by http_session.cc, on the connection's strand.
#ifndef MASTER_GATEWAY_TLS_SESSION_H_
#define MASTER_GATEWAY_TLS_SESSION_H_

#include <memory>

#include "master/gateway/http_session.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace det::gateway {

// Ends when the connection has ended. Who does not speak TLS is told so, in HTTP.
boost::asio::awaitable<void> ServeTls(std::shared_ptr<HttpContext> context,
                                      std::shared_ptr<boost::beast::tcp_stream> stream,
                                      Caller caller);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TLS_SESSION_H_
