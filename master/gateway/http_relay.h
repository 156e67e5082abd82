// Relays one request to a program in a task and its response to the client, piece by piece, so that
// bodies may be of any size and arrive without delay.
//
// Created by http_proxy.cc, on the client connection's strand.
#ifndef MASTER_GATEWAY_HTTP_RELAY_H_
#define MASTER_GATEWAY_HTTP_RELAY_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "master/gateway/http_session.h"
#include "master/gateway/proxy_headers.h"
#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace det::gateway {

// Takes over a connected socket. Nothing TCP-specific is used on it.
std::shared_ptr<boost::beast::tcp_stream> MakeStream(
    const boost::beast::tcp_stream::executor_type& executor, base::Fd connection);

// Copies bytes in both directions until one of them ends. Then neither has a pending operation.
boost::asio::awaitable<void> RelayBytes(std::shared_ptr<boost::beast::tcp_stream> client,
                                        std::shared_ptr<boost::beast::tcp_stream> task);

class HttpRelay {
 public:
  using RequestParser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

  struct Parts {
    std::shared_ptr<boost::beast::tcp_stream> client;
    boost::beast::flat_buffer& client_buffer;  // bytes that were read from the client
    std::unique_ptr<RequestParser> request;    // its header was read
    TaskRequest head;                          // for the program
    bool upgrade = false;                      // the request is the handshake of a websocket
    // Changes a response before it is sent, and learns its status.
    std::function<void(ClientResponse&)> on_response;
    std::string path;  // of the service
  };
  explicit HttpRelay(Parts parts) : parts_(std::move(parts)) {}
  HttpRelay(const HttpRelay&) = delete;
  HttpRelay& operator=(const HttpRelay&) = delete;

  enum class Result {
    kUnanswered,  // nothing was sent to the client
    kAnswered,    // the response, or the websocket, is complete
    kBroken,      // the response, or the client's connection, has ended early
  };
  // Sends the request on this connection. May be called again after kUnanswered for a request
  // without a body.
  boost::asio::awaitable<Result> Run(base::Fd connection);

  // Whether the request may be sent twice: it only reads and has no body.
  bool is_repeatable() const { return is_repeatable_; }

  // Whether the client's connection can serve another request.
  bool keeps_client() const { return keeps_client_; }
  // Whether the request's body was read to its end.
  bool has_read_request() const { return parts_.request->is_done(); }
  // The program's connection if it can serve another request; else invalid.
  base::Fd TakeConnection();

 private:
  using ResponseParser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;
  using Error = boost::system::error_code;

  static bool IsRepeatable(const Parts& parts);
  boost::asio::awaitable<void> Upload();
  boost::asio::awaitable<void> UploadBody();
  boost::asio::awaitable<void> Download();
  boost::asio::awaitable<Error> ReadResponseHeader();
  boost::asio::awaitable<Result> RelayResponse();
  boost::asio::awaitable<Result> RelayBody(bool chunked);
  boost::asio::awaitable<Result> RelayWebsocket();
  // Sends the header; returns false if that fails.
  boost::asio::awaitable<bool> SendHeader(ClientResponse& header);

  Parts parts_;
  const bool is_repeatable_ = IsRepeatable(parts_);
  std::shared_ptr<boost::beast::tcp_stream> task_;
  boost::beast::flat_buffer task_buffer_{kMaxBufferedBytes};
  std::optional<ResponseParser> response_;
  Result result_ = Result::kUnanswered;
  bool uploaded_ = false;  // the program has the whole request
  bool over_ = false;      // the response has ended
  const std::shared_ptr<bool> disconnected_ = std::make_shared<bool>(false);  // the client
  bool keeps_client_ = false;
  bool keeps_task_ = false;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_RELAY_H_
