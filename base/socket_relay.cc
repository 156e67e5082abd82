#include "base/socket_relay.h"

#include <algorithm>
#include <utility>

#include "base/await.h"
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>

namespace det::base {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class Relay {
 public:
  Relay(StreamSocket& socket, MessageStream& stream) : socket_(socket), stream_(stream) {}

  // From the socket to the stream.
  asio::awaitable<void> Send() {
    MessageStream::Message message;
    while (!message.end) {
      message = co_await ReadSocket();
      if (!co_await stream_.Write(message)) {
        Close();
        co_return;
      }
    }
    sent_ = true;
    if (received_) co_return CloseStream();
    // A peer that has closed its socket takes nothing more, so that the other side need not send.
    error_code error;
    co_await socket_.async_wait(StreamSocket::wait_error, Catch(error));
    if (!error) CloseStream();
  }

  // From the stream to the socket. Reads the stream until its end, to notice when it breaks.
  asio::awaitable<void> Receive() {
    while (const auto message = co_await stream_.Read()) {
      if (received_) continue;
      error_code error;
      const auto bytes = asio::buffer(message->data);
      co_await asio::async_write(socket_, bytes, Catch(error));
      if (!error && !message->end) continue;
      // If the peer of the socket takes no more bytes, it may still send.
      socket_.shutdown(StreamSocket::shutdown_send, error);
      received_ = true;
      if (sent_) CloseStream();
    }
    closed_ = true;
    Close();
  }

 private:
  // A socket that waits has no buffer. Any failure of the socket is its end.
  asio::awaitable<MessageStream::Message> ReadSocket() {
    MessageStream::Message message;
    error_code error;
    do {
      co_await socket_.async_wait(StreamSocket::wait_read, Catch(error));
      if (error) break;
      const size_t available = socket_.available(error);
      message.data.resize(std::clamp(available, size_t{1}, kMaxMessageBytes));
      message.data.resize(socket_.read_some(asio::buffer(message.data), error));
    } while (error == asio::error::would_block);
    message.end = error.failed();
    co_return message;
  }

  void CloseStream() {
    if (!std::exchange(closed_, true)) stream_.Close();
  }
  void Close() {
    error_code ignored;
    socket_.close(ignored);
  }

  StreamSocket& socket_;
  MessageStream& stream_;
  bool sent_ = false;      // all bytes of the socket
  bool received_ = false;  // all bytes that the socket takes
  bool closed_ = false;    // the stream
};

}  // namespace

asio::awaitable<void> RelaySocket(StreamSocket& socket, MessageStream& stream) {
  using namespace asio::experimental::awaitable_operators;
  error_code ignored;
  socket.non_blocking(true, ignored);
  Relay relay(socket, stream);
  co_await (relay.Send() && relay.Receive());
}

}  // namespace det::base
