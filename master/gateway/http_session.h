// One connection: finds out what it speaks, then serves its requests one after the other.
//
// Started by http_server.cc on one of its threads; a coroutine on a strand of its own.
#ifndef MASTER_GATEWAY_HTTP_SESSION_H_
#define MASTER_GATEWAY_HTTP_SESSION_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "master/gateway/http_server.h"
#include "master/gateway/openapi.h"
#include "master/gateway/json_cache.h"
#include "master/gateway/rpc.h"
#include "master/gateway/transcoder.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace det::gateway {

// Whether connections may still be lent to gRPC: a server that shuts down must be given none.
class GrpcHandoff {
 public:
  // Calls `lend`, which does not wait, unless it is over; says whether.
  bool Try(absl::FunctionRef<void()> lend) {
    std::lock_guard lock(mutex_);
    if (!over_) lend();
    return !over_;
  }
  // Once it has returned, no connection is being lent, and none will be.
  void End() {
    std::lock_guard lock(mutex_);
    over_ = true;
  }

 private:
  std::mutex mutex_;
  bool over_ = false;
};

// What all connections share; outlives them.
struct HttpContext {
  HttpOptions options;
  HttpHooks hooks;
  grpc::Server* server = nullptr;
  Transcoder transcoder;
  Rpc rpc;
  OpenApi openapi;
  JsonCache json_cache = {};
  GrpcHandoff handoff = {};
};

// Of a connection, whatever it speaks.
struct Caller {
  std::string address;             // without a port; empty: unknown
  grpc::Server* server = nullptr;  // whom it is lent to if it speaks gRPC
};

// Ends when the connection has ended, whoever served it.
boost::asio::awaitable<void> ServeConnection(std::shared_ptr<HttpContext> context,
                                             std::shared_ptr<boost::beast::tcp_stream> stream);
// The same of one in the clear; `stream` may be any socket that carries bytes.
boost::asio::awaitable<void> ServePlaintext(std::shared_ptr<HttpContext> context,
                                        std::shared_ptr<boost::beast::tcp_stream> stream,
                                        Caller caller);

// Hears out a client that has its answer already: if the connection ended under what it is still
// sending, it might lose the answer.
boost::asio::awaitable<void> DrainClient(boost::beast::tcp_stream& stream);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_SESSION_H_
