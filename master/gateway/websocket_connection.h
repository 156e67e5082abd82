// A client's connection as the stream of a websocket.
//
// Used by http_updates.cc and http_tunnel.cc on the connection's strand.
#ifndef MASTER_GATEWAY_WEBSOCKET_CONNECTION_H_
#define MASTER_GATEWAY_WEBSOCKET_CONNECTION_H_

#include <memory>
#include <utility>

#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket.hpp>

namespace det::gateway {

// The connection as a stream that a websocket owns, although the server owns and closes it.
class WebsocketConnection {
 public:
  using executor_type = boost::beast::tcp_stream::executor_type;

  explicit WebsocketConnection(std::shared_ptr<boost::beast::tcp_stream> stream)
      : stream_(std::move(stream)) {}

  executor_type get_executor() noexcept { return stream_->get_executor(); }
  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return stream_->async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return stream_->async_write_some(buffers, std::forward<Token>(token));
  }

  friend void beast_close_socket(WebsocketConnection& connection) { connection.stream_->close(); }
  template <class Handler>
  friend void async_teardown(boost::beast::role_type role, WebsocketConnection& connection,
                             Handler&& handler) {
    boost::beast::websocket::async_teardown(role, connection.stream_->socket(),
                                            std::forward<Handler>(handler));
  }

 private:
  std::shared_ptr<boost::beast::tcp_stream> stream_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_WEBSOCKET_CONNECTION_H_
