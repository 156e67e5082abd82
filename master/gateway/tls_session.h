// TLS for one connection: performs the handshake, then relays between the client and a plaintext
// socket pair within the process, which is served like any other connection.
//
// Called by http_session.cc on the connection's strand.
#ifndef MASTER_GATEWAY_TLS_SESSION_H_
#define MASTER_GATEWAY_TLS_SESSION_H_

#include <memory>

#include "master/gateway/http_session.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace det::gateway {

// Completes when the connection has ended. A client that does not use TLS gets an HTTP error.
boost::asio::awaitable<void> ServeTls(std::shared_ptr<HttpContext> context,
                                      std::shared_ptr<boost::beast::tcp_stream> stream,
                                      Caller caller);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TLS_SESSION_H_
