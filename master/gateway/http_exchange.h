// One HTTP request and its response.
//
// Created by http_session.cc for each request, on the connection's strand. Requests that can be
// refused by their headers are refused before the body is read. http_exchange.cc reads requests and
// calls services, http_streams.cc joins several streams, http_updates.cc serves a websocket,
// http_download.cc sends files, http_proxy.cc and http_tunnel.cc lead into tasks,
// http_responses.cc builds responses.
#ifndef MASTER_GATEWAY_HTTP_EXCHANGE_H_
#define MASTER_GATEWAY_HTTP_EXCHANGE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/fd.h"
#include "master/gateway/builtin_routes.h"
#include "master/gateway/http_relay.h"
#include "master/gateway/http_session.h"
#include "master/gateway/proxied_service.h"
#include "master/gateway/proxy_headers.h"
#include "master/gateway/session_cookie.h"
#include "master/gateway/static_files.h"
#include "master/gateway/transcoder.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace det::gateway {

inline constexpr char kEvents[] = "text/event-stream";

// Coroutines take arguments by reference to named variables, since g++ 12 destroys some temporaries
// in `co_await` expressions twice.
class HttpExchange {
 public:
  // `buffer`: bytes that were read from the connection and belong to the next request.
  HttpExchange(HttpContext& context, std::shared_ptr<boost::beast::tcp_stream> stream,
               std::string peer, boost::beast::flat_buffer& buffer);

  // Returns true if the connection can serve another request.
  boost::asio::awaitable<bool> Serve();

  // Whether the client may still be sending this request.
  bool unread() const { return !body_was_read_ && !parser_.is_done(); }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  // Authorizes the caller, reads the body and calls the method.
  boost::asio::awaitable<bool> ServeRoute(const Transcoder::Route& route);
  // Whether the request is a call within the process whose body may be read from anyone.
  bool IsSmallLocalCall(const Transcoder::Route& route) const;
  boost::asio::awaitable<Error> ReadHeader();
  boost::asio::awaitable<Error> ReadBody(uint64_t limit);
  // Tells the client to send the body, if the client waits for that.
  boost::asio::awaitable<Error> AllowBody();
  // Responds to a request that cannot be read, if the client is still connected.
  boost::asio::awaitable<bool> RespondUnreadable(const Error& error, uint64_t limit);
  // Decodes the body's Content-Encoding in place; returns an error response if that fails.
  std::optional<Response> DecodeBody(uint64_t limit);

  Response MakeResponse(int status, const std::string& type, std::string body) const;
  Response MakeErrorResponse(const absl::Status& status) const;
  // The same for a call that streams messages.
  Response MakeStreamErrorResponse(const absl::Status& status) const;
  // The JSON of an error, in the form of the requested path.
  std::string GetErrorJson(const absl::Status& status) const;
  Response MakeFileResponse(const StaticFiles::File& file) const;
  // The response to requests that need no service; nullopt for all others.
  std::optional<Response> RespondDirectly() const;
  // Adds the headers of every response: request id, caching and CORS.
  void AddCommonHeaders(Response& response) const;
  // Finds the requested method, or stores the response to a request without one in `refusal`.
  absl::StatusOr<Transcoder::Route> FindRoute(std::optional<Response>* refusal) const;
  // The response to a caller that is not authorized for the route.
  Response MakeRefusal(const Transcoder::Route& route, const absl::Status& why) const;
  boost::asio::awaitable<absl::StatusOr<AuthorizedCaller>> Authorize(
      const std::string& method, const std::optional<std::string>& authorization);

  boost::asio::awaitable<bool> Write(Response& response);
  boost::asio::awaitable<bool> ServeMetrics();
  boost::asio::awaitable<bool> ServeUnary(const std::string& method, const Transcoder::Call& call,
                                          const Metadata& metadata);
  // Call a unary method and return the body of the response.
  boost::asio::awaitable<absl::StatusOr<Transcoder::Body>> CallLocally(const std::string& method,
                                                                       const Transcoder::Call& call,
                                                                       const Metadata& metadata);
  boost::asio::awaitable<absl::StatusOr<Transcoder::Body>> CallGrpc(const std::string& method,
                                                                    const Transcoder::Call& call,
                                                                    const Metadata& metadata);
  // Runs `cancel` when the client disconnects, if the method waits for an event.
  void CancelOnDisconnect(const std::string& method, std::function<void()> cancel);
  boost::asio::awaitable<void> ServeStream(const Transcoder::Call& call, const Metadata& metadata);
  boost::asio::awaitable<void> ServeDownload(const Transcoder::Call& call,
                                             const Metadata& metadata);
  boost::asio::awaitable<bool> WriteStreamHeader(const char* type, bool chunked);
  boost::asio::awaitable<bool> WriteChunk(const std::string& text, bool chunked);
  boost::asio::awaitable<void> WriteLastChunk();

  // Several streams joined over this connection.
  class JoinedStreams;
  boost::asio::awaitable<bool> ServeJoined();
  // Reads one stream to its end and queues its messages in `joined`.
  boost::asio::awaitable<void> FollowStream(size_t index, std::string address,
                                            std::shared_ptr<JoinedStreams> joined);
  boost::asio::awaitable<absl::Status> Pump(size_t index, const std::string& address,
                                            JoinedStreams& joined);

  // Serves the websocket /stream.
  boost::asio::awaitable<bool> ServeUpdates();
  // Why the request cannot become a websocket; OK if it can.
  absl::Status CheckUpgrade() const;

  // Serves a path below /proxy/.
  boost::asio::awaitable<bool> ServeProxy();
  Response MakeProxyRefusal(const absl::Status& status) const;
  Response MakeBadGateway(const std::string& why) const;
  boost::asio::awaitable<absl::StatusOr<base::Fd>> Dial(const OpenedService& service);
  boost::asio::awaitable<bool> RelayRequest(const ProxyTarget& place, const OpenedService& service);
  // Takes over the request, of which `parser_` keeps the header.
  std::unique_ptr<HttpRelay> MakeRelay(const ProxyTarget& place, const OpenedService& service);
  // Sends the request to the program: on an open connection if it can be repeated, else on a new
  // one. An error if that cannot be opened.
  boost::asio::awaitable<absl::StatusOr<HttpRelay::Result>> SendRequest(
      HttpRelay& relay, const OpenedService& service);
  static std::string GetDialError(const std::string& name, const absl::Status& status);
  // Adds the gateway's headers to a response of a program, and counts it.
  void CompleteProxied(const ProxyTarget& place, const OpenedService& service,
                       ClientResponse& response) const;
  // Serves a TCP service as a websocket whose binary frames carry the bytes.
  boost::asio::awaitable<bool> ServeTunnel(const std::string& name, const OpenedService& service);
  absl::Status CheckTunnel(const std::string& name) const;

  const Request& request() const { return parser_.get(); }
  std::string_view target() const { return {request().target().data(), request().target().size()}; }
  bool IsReadOnly() const;
  // The built-in route that is requested, or null.
  const BuiltinRoute* FindBuiltin() const;
  // The authorization for the method: the Authorization header, or the session cookie where it is
  // accepted. Nullopt if it is not printable.
  std::optional<std::string> FindAuthorization(const std::string& method) const;
  bool IsSecureRequest() const { return IsSecure(request(), context_.options.tls != nullptr); }
  // Sets or clears the session cookie in the response to Login or Logout.
  void UpdateSession(const std::string& method, Response& response) const;
  // Metadata for the service call.
  Metadata MakeMetadata(const std::string& authorization, const AuthorizedCaller& caller) const;

  HttpContext& context_;
  const std::shared_ptr<boost::beast::tcp_stream> stream_;
  const std::string peer_;  // the client's address
  boost::beast::flat_buffer& buffer_;
  Parser parser_;
  bool body_was_read_ = false;  // not by `parser_`
  std::string request_id_;
};

// Runs `on_disconnect` when the client disconnects, since a stream may have nothing to write for
// hours. Ends as soon as the client sends something.
boost::asio::awaitable<void> WatchClient(std::shared_ptr<boost::beast::tcp_stream> stream,
                                         std::function<void()> on_disconnect);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_EXCHANGE_H_
