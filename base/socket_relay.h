// Relays bytes between a socket and a stream of messages, in both directions.
//
// Used by the master and the agent for tunnels; one thread relays any number of sockets. At most
// one message of each direction is in memory: a side that takes nothing stops the other side.
#ifndef BASE_SOCKET_RELAY_H_
#define BASE_SOCKET_RELAY_H_

#include <cstddef>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

namespace det::base {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

// A stream of messages, such as a bidirectional call. At most one Read and one Write are pending,
// and Close is called after the last Write. Implementations return what Await returns: with g++ 12,
// virtual functions that were coroutines themselves crashed.
class MessageStream {
 public:
  struct Message {
    std::string data;
    bool end = false;  // no more bytes follow in this direction
  };
  virtual ~MessageStream() = default;

  // Yields nullopt when the stream has ended or is broken.
  virtual boost::asio::awaitable<std::optional<Message>> Read() = 0;
  // Takes the data out of `message`. Yields true once the stream can take another message, false if
  // it is broken.
  virtual boost::asio::awaitable<bool> Write(Message& message) = 0;
  // Ends the stream. What was written still arrives; a pending or later Read yields nullopt soon.
  virtual void Close() = 0;
};

inline constexpr size_t kMaxMessageBytes = size_t{64} << 10;

// Returns when the stream has ended, and closes the socket then. Closes the stream when both
// directions have ended, or when the socket's peer has closed it and its bytes are sent. The end of one direction does not affect the other: each side may shut
// down its socket for writing and still read. If the socket is closed by the caller, both
// directions end. REQUIRES that both outlive the coroutine, which runs on the socket's executor.
boost::asio::awaitable<void> RelaySocket(StreamSocket& socket, MessageStream& stream);

}  // namespace det::base

#endif  // BASE_SOCKET_RELAY_H_
