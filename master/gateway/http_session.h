// One connection: detects the protocol, then serves requests sequentially.
//
// Started by http_server.cc on one of its threads; a coroutine on its own strand.
#ifndef MASTER_GATEWAY_HTTP_SESSION_H_
#define MASTER_GATEWAY_HTTP_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "master/gateway/http_server.h"
#include "master/gateway/idle_connections.h"
#include "master/gateway/json_cache.h"
#include "master/gateway/openapi.h"
#include "master/gateway/rpc.h"
#include "master/gateway/transcoder.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace det::gateway {

// The maximum size of a header, and of what is buffered of a message. Beast throws for a field of
// 64 KiB, in a trailer too, so a buffer must be smaller.
inline constexpr uint32_t kMaxHeaderBytes = 63 << 10;
inline constexpr size_t kMaxBufferedBytes = (64 << 10) - 1;

// Guards handing connections to gRPC: a server that shuts down must not receive any.
class GrpcHandoff {
 public:
  // Calls `lend`, which must not block, unless End was called; returns whether it did.
  bool Try(absl::FunctionRef<void()> lend) {
    std::lock_guard lock(mutex_);
    if (!over_) lend();
    return !over_;
  }
  // After it returns, no connection is handed to gRPC any more.
  void End() {
    std::lock_guard lock(mutex_);
    over_ = true;
  }

 private:
  std::mutex mutex_;
  bool over_ = false;
};

// State shared by all connections; outlives them.
struct HttpContext {
  HttpOptions options;
  HttpHooks hooks;
  grpc::Server* server = nullptr;
  Transcoder transcoder;
  Rpc rpc;
  OpenApi openapi;
  JsonCache json_cache = {};
  GrpcHandoff handoff = {};
  std::shared_ptr<IdleConnections> idle_connections = nullptr;  // set before the first connection
};

// The peer of a connection.
struct Caller {
  std::string address;             // without port; empty: unknown
  grpc::Server* server = nullptr;  // receives the connection if it is gRPC
};

// Completes when the connection has ended.
boost::asio::awaitable<void> ServeConnection(std::shared_ptr<HttpContext> context,
                                             std::shared_ptr<boost::beast::tcp_stream> stream);
// Serves a plaintext connection; `stream` may be any byte stream.
boost::asio::awaitable<void> ServePlaintext(std::shared_ptr<HttpContext> context,
                                            std::shared_ptr<boost::beast::tcp_stream> stream,
                                            Caller caller);

// Reads and discards the rest of a request that was already answered: closing the connection while
// the client is still sending could lose the response.
boost::asio::awaitable<void> DrainClient(boost::beast::tcp_stream& stream);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_SESSION_H_
