// The websocket /stream.
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "master/gateway/testing/gateway_fixture.h"
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket.hpp>

namespace det::gateway {
namespace {

namespace websocket = boost::beast::websocket;

// A feed that repeats each request, and sends what a test adds.
class Echo {
 public:
  void Add(const std::string& message) {
    std::function<void()> wake;
    {
      std::lock_guard lock(mutex_);
      messages_.push_back(message);
      wake = wake_;
    }
    wake();
  }
  bool is_open() {
    std::lock_guard lock(mutex_);
    return wake_ != nullptr;
  }

  HttpHooks MakeHooks() {
    HttpHooks hooks;
    hooks.open_updates = [this](const std::string& authorization, std::function<void()> wake,
                                auto reply) {
      if (authorization.empty()) return reply(absl::UnauthenticatedError("log in"));
      std::lock_guard lock(mutex_);
      wake_ = std::move(wake);
      reply(std::make_unique<Feed>(this));
    };
    return hooks;
  }

 private:
  class Feed final : public UpdateFeed {
   public:
    explicit Feed(Echo* echo) : echo_(*echo) {}
    ~Feed() override {
      std::lock_guard lock(echo_.mutex_);
      echo_.wake_ = nullptr;
    }
    void Next(std::optional<std::string> request, Reply reply) override {
      if (request == "bad") return reply(absl::InvalidArgumentError("the request is bad"));
      std::vector<std::string> messages;
      if (request) messages.push_back("got " + *request);
      std::unique_lock lock(echo_.mutex_);
      for (std::string& each : echo_.messages_) messages.push_back(std::move(each));
      echo_.messages_.clear();
      lock.unlock();
      reply(std::move(messages));
    }

   private:
    Echo& echo_;
  };

  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::function<void()> wake_;  // null: no client is connected
};

class UpdatesTest : public Echo, public GatewayTest {
 protected:
  UpdatesTest() : GatewayTest({.allow_origins = {"https://allowed.example"}}, MakeHooks()) {}

  using Socket = websocket::stream<tcp::socket>;

  std::unique_ptr<Socket> Open(const std::string& token = "t") {
    auto socket = std::make_unique<Socket>(Connect());
    socket->set_option(websocket::stream_base::decorator([token](websocket::request_type& request) {
      request.set(http::field::authorization, "Bearer " + token);
    }));
    socket->handshake("x", "/stream");
    return socket;
  }
  static std::string Read(Socket& socket) {
    boost::beast::flat_buffer buffer;
    socket.read(buffer);
    EXPECT_TRUE(socket.got_text());
    return boost::beast::buffers_to_string(buffer.data());
  }
  HttpResponse Upgrade(const std::string& headers) {
    return SendRequest(
        "GET /stream HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
        headers);
  }
};

TEST_F(UpdatesTest, SendsMessagesOfTheFeed) {
  const auto socket = Open();
  socket->write(asio::buffer(std::string("one")));
  EXPECT_EQ(Read(*socket), "got one");
  Add("news");
  EXPECT_EQ(Read(*socket), "news");
  socket->write(asio::buffer(std::string("two")));
  socket->write(asio::buffer(std::string("three")));
  EXPECT_EQ(Read(*socket), "got two");
  EXPECT_EQ(Read(*socket), "got three");
}

TEST_F(UpdatesTest, ClosesWithReasonOfFailure) {
  const auto socket = Open();
  socket->write(asio::buffer(std::string("bad")));
  boost::beast::flat_buffer buffer;
  boost::system::error_code error;
  socket->read(buffer, error);
  EXPECT_EQ(error, websocket::error::closed);
  EXPECT_EQ(socket->reason().code, websocket::close_code::policy_error);
  EXPECT_EQ(socket->reason().reason, "the request is bad");
}

TEST_F(UpdatesTest, EndsFeedWhenClientLeaves) {
  {
    const auto socket = Open();
    EXPECT_TRUE(is_open());
    socket->close(websocket::close_code::normal);
  }
  while (is_open()) std::this_thread::yield();
}

TEST_F(UpdatesTest, RefusesRequestsThatAreNotAllowed) {
  EXPECT_EQ(SendRequest("GET /stream HTTP/1.1\r\nAuthorization: Bearer t\r\n").status, 400);
  EXPECT_EQ(Upgrade("").status, 401);
  const std::string token = "Authorization: Bearer t\r\n";
  EXPECT_EQ(Upgrade(token + "Origin: https://other.example\r\n").status, 403);
  EXPECT_EQ(Upgrade(token + "Origin: https://allowed.example\r\n").status, 101);
  EXPECT_EQ(Upgrade(token + "Origin: http://x\r\n").status, 101) << "the host of the request";
}

TEST_F(GatewayTest, HasNoUpdatesWithoutHook) {
  EXPECT_EQ(SendRequest("GET /stream HTTP/1.1\r\nAuthorization: Bearer t\r\n").status, 404);
}

}  // namespace
}  // namespace det::gateway
