// One HTTP request and its answer.
//
// Made by http_session.cc for each request of a connection, on the connection's strand. What can be
// answered by the headers is answered before any of the body is read. http_exchange.cc reads and
// calls, http_streams.cc calls several at once, http_download.cc sends files, http_answers.cc makes
// the answers.
#ifndef MASTER_GATEWAY_HTTP_EXCHANGE_H_
#define MASTER_GATEWAY_HTTP_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/gateway/http_session.h"
#include "master/gateway/builtin_routes.h"
#include "master/gateway/session_cookie.h"
#include "master/gateway/static_files.h"
#include "master/gateway/transcoder.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace det::gateway {

inline constexpr char kEvents[] = "text/event-stream";

// Coroutines here take what they are given by reference, from named variables: g++ 12 destroys some
// temporaries in them twice.
class HttpExchange {
 public:
  // `buffer`: what was read of the connection and belongs to the next request.
  HttpExchange(HttpContext& context, std::shared_ptr<boost::beast::tcp_stream> stream,
               std::string peer, boost::beast::flat_buffer& buffer);

  // True when the connection is good for another request.
  boost::asio::awaitable<bool> Serve();

  // Whether the client may still be sending this request.
  bool unread() const { return !parser_.is_done(); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  // From the method's name on: who is asking, the body, the call.
  boost::asio::awaitable<bool> ServeRoute(const Transcoder::Route& route);
  boost::asio::awaitable<Error> ReadHeader();
  boost::asio::awaitable<Error> ReadBody(uint64_t limit);
  // Answers a request that cannot be read, if there is anybody to hear it.
  boost::asio::awaitable<bool> RespondUnreadable(const Error& error, uint64_t limit);
  // Puts the body as it was before its Content-Encoding; or the answer to one that cannot be.
  std::optional<Response> DecodeBody(uint64_t limit);

  Response MakeResponse(int status, const std::string& type, std::string body) const;
  Response MakeErrorResponse(const absl::Status& status) const;
  Response MakeFileResponse(const StaticFiles::File& file) const;
  // What needs no call of a service; nullopt for all else.
  std::optional<Response> RespondDirectly() const;
  // What every answer has: the request's id, and how and by whom it may be read.
  void AddCommonHeaders(Response& response) const;
  // The method that is asked for, or the answer to a request for none.
  absl::StatusOr<Transcoder::Route> FindRoute(std::optional<Response>* refusal) const;
  boost::asio::awaitable<absl::StatusOr<AuthorizedCaller>> Authorize(
      const std::string& method, const std::optional<std::string>& authorization);

  boost::asio::awaitable<bool> Write(Response& response);
  boost::asio::awaitable<bool> ServeMetrics();
  boost::asio::awaitable<bool> ServeUnary(const std::string& method, const Transcoder::Call& call,
                                          const Metadata& metadata);
  boost::asio::awaitable<void> ServeStream(const Transcoder::Call& call, const Metadata& metadata);
  boost::asio::awaitable<void> ServeDownload(const Transcoder::Call& call, const Metadata& metadata);
  boost::asio::awaitable<bool> WriteStreamHeader(const char* type, bool chunked);
  boost::asio::awaitable<bool> WriteChunk(const std::string& text, bool chunked);
  boost::asio::awaitable<void> WriteLastChunk();

  // Several streams over this connection, by their addresses.
  class JoinedStreams;
  boost::asio::awaitable<bool> ServeJoined();
  // One of them, to its end, for whoever writes what they have.
  boost::asio::awaitable<void> FollowStream(size_t index, std::string address,
                                         std::shared_ptr<JoinedStreams> joined);
  boost::asio::awaitable<absl::Status> Pump(size_t index, const std::string& address,
                                            JoinedStreams& joined);

  const Request& request() const { return parser_.get(); }
  std::string_view target() const { return {request().target().data(), request().target().size()}; }
  bool IsReadOnly() const;
  // What the gateway itself answers, if it is asked for.
  const BuiltinRoute* FindBuiltin() const;
  // As whom the method is called: by its header, or by the session's cookie where that may stand
  // for it. Nothing for one that is not text.
  std::optional<std::string> FindAuthorization(const std::string& method) const;
  bool IsSecureRequest() const { return IsSecure(request(), context_.options.tls != nullptr); }
  // Begins or ends the browser's session with the answer to the method that does.
  void UpdateSession(const std::string& method, Response& response) const;
  // What the call of a service carries of this request.
  Metadata MakeMetadata(const std::string& authorization) const;

  HttpContext& context_;
  const std::shared_ptr<boost::beast::tcp_stream> stream_;
  const std::string peer_;  // the client's address
  boost::beast::flat_buffer& buffer_;
  Parser parser_;
  std::string request_id_;
};

// Runs `gone` when the client goes away: a stream may have nothing to write for hours. Over as soon
// as the client sends something.
boost::asio::awaitable<void> WatchClient(std::shared_ptr<boost::beast::tcp_stream> stream,
                                         std::function<void()> gone);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_EXCHANGE_H_
