// A program in a task: a server on a loopback socket. Used by tests of the proxy.
#ifndef MASTER_GATEWAY_TESTING_TARGET_H_
#define MASTER_GATEWAY_TESTING_TARGET_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

namespace det::gateway {

class Target {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  // Serves one connection, on a separate thread; the socket is closed afterwards.
  using Serve = std::function<void(Socket&)>;

  explicit Target(Serve serve)
      : serve_(std::move(serve)),
        acceptor_(io_, {boost::asio::ip::address_v4::loopback(), 0}),
        accepting_([this] { Accept(); }) {}
  ~Target() {
    stopped_ = true;
    // Wakes the blocking accept.
    boost::asio::io_context io;
    Socket waker(io);
    boost::system::error_code ignored;
    waker.connect(acceptor_.local_endpoint(), ignored);
    accepting_.join();
    {
      std::lock_guard lock(mutex_);
      for (Socket* each : open_) each->shutdown(Socket::shutdown_both, ignored);
    }
    for (std::thread& each : threads_) each.join();
  }

  int connections() const { return connections_; }

  // Opens a non-blocking connection, as a TaskDialer does.
  base::Fd Connect() {
    Socket socket(io_);
    socket.connect(acceptor_.local_endpoint());
    socket.non_blocking(true);
    return base::Fd(socket.release());
  }

  // Reads the header of a request as text; empty at the end of the connection.
  static std::string ReadHead(Socket& socket) {
    std::string head;
    char byte;
    boost::system::error_code error;
    while (!head.ends_with("\r\n\r\n")) {
      if (socket.read_some(boost::asio::buffer(&byte, 1), error) == 0 || error) return "";
      head += byte;
    }
    return head;
  }
  static void Send(Socket& socket, const std::string& text) {
    boost::system::error_code ignored;
    boost::asio::write(socket, boost::asio::buffer(text), ignored);
  }
  // Answers each request without a body with its header.
  static void EchoHeads(Socket& socket) {
    for (std::string head = ReadHead(socket); !head.empty(); head = ReadHead(socket)) {
      const bool has_body = !head.starts_with("HEAD ");
      Send(socket, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " +
                       std::to_string(head.size()) + "\r\n\r\n" + (has_body ? head : ""));
    }
  }
  // Answers each request with its body.
  static void EchoBodies(Socket& socket) {
    namespace http = boost::beast::http;
    boost::beast::flat_buffer buffer;
    boost::system::error_code error;
    while (true) {
      http::request_parser<http::string_body> request;
      request.body_limit(boost::none);
      http::read(socket, buffer, request, error);
      if (error) return;
      http::response<http::string_body> response(http::status::ok, 11, request.get().body());
      response.set("X-Was-Chunked", request.chunked() ? "yes" : "no");
      response.prepare_payload();
      http::write(socket, response, error);
      if (error) return;
    }
  }

 private:
  void Accept() {
    while (true) {
      Socket socket(io_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (stopped_) return;
      if (error) continue;
      ++connections_;
      threads_.emplace_back([this, held = std::move(socket)]() mutable {
        {
          std::lock_guard lock(mutex_);
          open_.insert(&held);
        }
        serve_(held);
        std::lock_guard lock(mutex_);
        open_.erase(&held);
        boost::system::error_code ignored;
        held.shutdown(Socket::shutdown_both, ignored);
        held.close(ignored);
      });
    }
  }

  const Serve serve_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::atomic<bool> stopped_ = false;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::set<Socket*> open_;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TESTING_TARGET_H_
