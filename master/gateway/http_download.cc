// Responses that are files, streamed: methods that stream google.api.HttpBody.
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/api/httpbody.pb.h"
#include "master/gateway/http_exchange.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <google/protobuf/message.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

absl::StatusOr<google::api::HttpBody> ReadPart(const absl::StatusOr<std::string>& message) {
  if (!message.ok()) return message.status();
  google::api::HttpBody part;
  if (!part.ParseFromString(*message)) return absl::InternalError("cannot read a part of the file");
  return part;
}

}  // namespace

asio::awaitable<void> HttpExchange::ServeDownload(const Transcoder::Call& call,
                                                  const Metadata& metadata) {
  stream_->expires_never();
  const std::string serialized = call.request->SerializeAsString();
  const auto rpc = StreamCall::Start(context_.rpc, call.path, serialized, metadata);
  std::function<void()> cancel = [rpc] { rpc->Cancel(); };
  asio::co_spawn(stream_->get_executor(), WatchClient(stream_, cancel), asio::detached);
  absl::StatusOr<std::string> message = co_await rpc->Next();
  absl::StatusOr<google::api::HttpBody> part = ReadPart(message);
  if (!part.ok()) {
    Response refusal = absl::IsOutOfRange(part.status()) ? MakeResponse(200, "", "")
                                                         : MakeErrorResponse(part.status());
    refusal.keep_alive(false);  // WatchClient reads from the connection
    co_await Write(refusal);
    co_return;
  }
  const bool chunked = request().version() >= 11;
  const std::string type = part->content_type();
  const bool started = co_await WriteStreamHeader(type.c_str(), chunked);
  bool writes = started && request().method() != http::verb::head;
  while (part.ok()) {
    // An empty chunk would be the last one.
    if (writes && !part->data().empty()) writes = co_await WriteChunk(part->data(), chunked);
    if (!writes) rpc->Cancel();
    message = co_await rpc->Next();
    part = ReadPart(message);
  }
  // Without a last chunk the client knows that the file is incomplete.
  if (writes && chunked && absl::IsOutOfRange(part.status())) co_await WriteLastChunk();
}

}  // namespace det::gateway
