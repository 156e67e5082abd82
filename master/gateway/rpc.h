// Calls of gRPC methods by name, with serialized messages, for coroutines.
//
// Used by http_server.cc on its threads; callers resume on their executor.
#ifndef MASTER_GATEWAY_RPC_H_
#define MASTER_GATEWAY_RPC_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace det::gateway {

// Metadata of a call; keys are lower case.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// Payload of an error status: the number of seconds after which to retry.
inline constexpr char kRetryAfter[] = "retry-after";

class Rpc {
 public:
  // `io`: the context whose threads call.
  Rpc(std::shared_ptr<boost::asio::io_context> io, std::shared_ptr<grpc::Channel> channel)
      : io_(std::move(io)), stub_(std::move(channel)) {}

  // Arguments must live until the call ends. Metadata values must be printable; empty ones are
  // omitted. `context` must be new; it can be used to cancel the call.
  boost::asio::awaitable<absl::StatusOr<std::string>> Unary(grpc::ClientContext& context,
                                                            const std::string& path,
                                                            const std::string& request,
                                                            const Metadata& metadata);

  grpc::GenericStub& stub() { return stub_; }
  const std::shared_ptr<boost::asio::io_context>& io() const { return io_; }

 private:
  const std::shared_ptr<boost::asio::io_context> io_;
  grpc::GenericStub stub_;
};

// A server stream. Keeps itself alive until OnDone.
class StreamCall final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public std::enable_shared_from_this<StreamCall> {
 public:
  static std::shared_ptr<StreamCall> Start(Rpc& rpc, const std::string& path,
                                           const std::string& request, const Metadata& metadata);

  // Returns the next message; an error or, at the end, OUT_OF_RANGE. One call at a time, and none
  // after an error.
  boost::asio::awaitable<absl::StatusOr<std::string>> Next();

  // Any thread. Next() then returns CANCELLED.
  void Cancel() { context_.TryCancel(); }

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  explicit StreamCall(std::shared_ptr<boost::asio::io_context> io) : io_(std::move(io)) {}

  const std::shared_ptr<boost::asio::io_context> io_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  absl::AnyInvocable<void(bool)> read_;
  absl::AnyInvocable<void(absl::Status)> done_;
  std::shared_ptr<StreamCall> self_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_RPC_H_
