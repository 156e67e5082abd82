#include "master/gateway/rpc.h"

#include <vector>

#include "absl/strings/cord.h"
#include "base/await.h"

namespace det::gateway {
namespace {

namespace asio = boost::asio;
using base::Await;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Call only after the call has ended: before, there is no trailing metadata.
absl::Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context) {
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  if (result.ok()) return result;
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto it = metadata.find(kRetryAfter);
  if (it != metadata.end()) {
    result.SetPayload(kRetryAfter, absl::Cord(std::string(it->second.data(), it->second.size())));
  }
  return result;
}

void Set(const Metadata& metadata, grpc::ClientContext* context) {
  for (const auto& [key, value] : metadata) {
    if (!value.empty()) context->AddMetadata(key, value);
  }
}

}  // namespace

asio::awaitable<absl::StatusOr<std::string>> Rpc::Unary(grpc::ClientContext& context,
                                                        const std::string& path,
                                                        const std::string& request,
                                                        const Metadata& metadata) {
  Set(metadata, &context);
  const grpc::ByteBuffer in = ToBuffer(request);
  grpc::ByteBuffer out;
  auto start = [&](auto done) {
    stub_.UnaryCall(&context, path, grpc::StubOptions(), &in, &out,
                    [done, &context](grpc::Status status) { done(FromGrpc(status, context)); });
  };
  const absl::Status status = co_await Await<absl::Status>(start, io_);
  if (!status.ok()) co_return status;
  co_return ToString(out);
}

std::shared_ptr<StreamCall> StreamCall::Start(Rpc& rpc, const std::string& path,
                                              const std::string& request,
                                              const Metadata& metadata) {
  std::shared_ptr<StreamCall> call(new StreamCall(rpc.io()));
  call->self_ = call;
  call->request_ = ToBuffer(request);
  Set(metadata, &call->context_);
  rpc.stub().PrepareBidiStreamingCall(&call->context_, path, grpc::StubOptions(), call.get());
  call->AddHold();  // nothing else keeps it alive between two reads
  call->StartWriteLast(&call->request_, grpc::WriteOptions());
  call->StartCall();
  return call;
}

asio::awaitable<absl::StatusOr<std::string>> StreamCall::Next() {
  auto read = [this](auto done) {
    read_ = done;
    StartRead(&response_);
  };
  if (co_await Await<bool>(read, io_)) co_return ToString(response_);
  auto finish = [this](auto done) {
    done_ = done;
    RemoveHold();
  };
  const absl::Status status = co_await Await<absl::Status>(finish, io_);
  co_return status.ok() ? absl::OutOfRangeError("the end") : status;
}

void StreamCall::OnReadDone(bool ok) {
  auto read = std::move(read_);
  read(ok);
}

void StreamCall::OnDone(const grpc::Status& status) {
  const std::shared_ptr<StreamCall> self = std::move(self_);
  if (done_) done_(FromGrpc(status, context_));
}

}  // namespace det::gateway
