// Several streams over one connection: GET /api/v1/streams?of=<address>&of=<address>. A browser
// opens at most six connections to a host, and each of its windows follows several streams.
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "master/gateway/http_exchange.h"
#include "proto/http_path.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <google/protobuf/message.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
using base::Catch;
using boost::system::error_code;

constexpr size_t kMaxStreams = 64;
// Maximum bytes buffered for the client; streams wait while it is exceeded.
constexpr size_t kMaxQueued = 1 << 20;

}  // namespace

// Output of several streams for one connection. Used on its strand.
class HttpExchange::JoinedStreams {
 public:
  explicit JoinedStreams(const asio::any_io_executor& executor)
      : ready_(executor), room_(executor) {
    ready_.expires_at(asio::steady_timer::time_point::max());
    room_.expires_at(asio::steady_timer::time_point::max());
  }

  void Add(std::shared_ptr<StreamCall> call) {
    if (disconnected_) call->Cancel();
    calls_.push_back(std::move(call));
  }
  // `what`: the rest of an event of this stream.
  void AddEvent(size_t stream, absl::string_view what) {
    if (disconnected_) return;
    absl::StrAppend(&text_, "data: {\"stream\":", stream, ",", what, "}\n\n");
    ready_.cancel();
  }
  void Begin() { ++open_; }
  void End() {
    --open_;
    ready_.cancel();
  }
  // The client has disconnected.
  void Leave() {
    disconnected_ = true;
    text_.clear();
    for (const auto& call : calls_) call->Cancel();
    ready_.cancel();
    room_.cancel();
  }

  bool disconnected() const { return disconnected_; }
  bool open() const { return open_ > 0; }
  // Waits for output and returns it; empty once all streams have ended.
  asio::awaitable<std::string> Next() {
    error_code error;
    while (text_.empty() && open_ > 0) co_await ready_.async_wait(Catch(error));
    room_.cancel();
    co_return std::exchange(text_, std::string());
  }
  asio::awaitable<void> WaitForRoom() {
    error_code error;
    while (text_.size() > kMaxQueued && !disconnected_) co_await room_.async_wait(Catch(error));
  }

 private:
  int open_ = 0;
  bool disconnected_ = false;
  std::string text_;
  std::vector<std::shared_ptr<StreamCall>> calls_;
  asio::steady_timer ready_, room_;
};

asio::awaitable<bool> HttpExchange::ServeJoined() {
  std::vector<std::string> addresses;
  const size_t question = target().find('?');
  if (question != std::string_view::npos) {
    for (auto& [name, value] : proto::ParseQuery(target().substr(question + 1))) {
      if (name == "of") addresses.push_back(std::move(value));
    }
  }
  if (addresses.empty() || addresses.size() > kMaxStreams) {
    Response refusal = MakeErrorResponse(absl::InvalidArgumentError(
        absl::StrCat("name the streams with of=<path>, 1 to ", kMaxStreams, " times")));
    co_return co_await Write(refusal);
  }
  const bool chunked = request().version() >= 11;
  stream_->expires_never();
  const bool started = co_await WriteStreamHeader(kEvents, chunked);
  if (!started || request().method() == boost::beast::http::verb::head) co_return false;
  const auto joined = std::make_shared<JoinedStreams>(stream_->get_executor());
  std::function<void()> leave = [joined] { joined->Leave(); };
  asio::co_spawn(stream_->get_executor(), WatchClient(stream_, leave), asio::detached);
  for (size_t i = 0; i < addresses.size(); ++i) {
    joined->Begin();
    asio::co_spawn(stream_->get_executor(), FollowStream(i, addresses[i], joined), asio::detached);
  }
  // This exchange must outlive all of the streams.
  for (;;) {
    const std::string text = co_await joined->Next();
    if (text.empty() && !joined->open()) break;
    if (text.empty()) continue;
    const bool written = co_await WriteChunk(text, chunked);
    if (!written) joined->Leave();
  }
  if (!joined->disconnected() && chunked) co_await WriteLastChunk();
  co_return false;
}

asio::awaitable<void> HttpExchange::FollowStream(size_t index, std::string address,
                                                 std::shared_ptr<JoinedStreams> joined) {
  const absl::Status over = co_await Pump(index, address, *joined);
  if (over.ok()) {
    joined->AddEvent(index, "\"end\":true");
  } else {
    const std::string error = ErrorJson(over);  // {"error": ...}
    joined->AddEvent(index, absl::StrCat("\"status\":", ToHttpStatus(over.code()), ",",
                                         absl::string_view(error).substr(1, error.size() - 2)));
  }
  joined->End();
}

asio::awaitable<absl::Status> HttpExchange::Pump(size_t index, const std::string& address,
                                                 JoinedStreams& joined) {
  const absl::StatusOr<Transcoder::Route> route = context_.transcoder.Find("GET", address);
  if (!route.ok()) co_return route.status();
  const absl::StatusOr<Transcoder::Call> call = Transcoder::Read(*route, "");
  if (!call.ok()) co_return call.status();
  if (!call->streams) {
    co_return absl::InvalidArgumentError(absl::StrCat(address,
                                                      " is not a stream; send a separate "
                                                      "request"));
  }
  const std::optional<std::string> authorization = FindAuthorization(route->method);
  const absl::StatusOr<AuthorizedCaller> caller = co_await Authorize(route->method, authorization);
  if (!caller.ok()) co_return caller.status();
  const Metadata metadata = MakeMetadata(*authorization, *caller);
  const std::string serialized = call->request->SerializeAsString();
  const auto rpc = StreamCall::Start(context_.rpc, call->path, serialized, metadata);
  joined.Add(rpc);
  absl::StatusOr<std::string> message = co_await rpc->Next();
  while (message.ok()) {
    const absl::StatusOr<JsonCache::Text> json = context_.json_cache.Write(*call->output, *message);
    if (json.ok()) {
      joined.AddEvent(index, absl::StrCat("\"result\":", **json));
    } else {
      rpc->Cancel();
    }
    co_await joined.WaitForRoom();
    message = co_await rpc->Next();
  }
  const bool ended = absl::IsOutOfRange(message.status());
  co_return ended ? absl::OkStatus() : message.status();
}

}  // namespace det::gateway
