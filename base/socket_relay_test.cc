#include "base/socket_relay.h"

#include <sys/socket.h>

#include <array>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "base/await.h"
#include "base/fd.h"
#include "base/io_thread.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

namespace det::base {
namespace {

namespace asio = boost::asio;
using Message = MessageStream::Message;

// A stream whose other end is the test. Write completes when the test takes the message.
class FakeStream final : public MessageStream {
 public:
  explicit FakeStream(std::shared_ptr<asio::io_context> io) : io_(std::move(io)) {}

  asio::awaitable<std::optional<Message>> Read() override {
    return Await<std::optional<Message>>(
        [this](auto done) { reading_ = std::move(done), Deliver(); }, io_);
  }
  asio::awaitable<bool> Write(Message& message) override {
    return Await<bool>(
        [this, message = std::move(message)](auto done) {
          written_ = message;
          taken_ = std::move(done);
          Offer();
        },
        io_);
  }
  void Close() override {
    Put(std::nullopt);
    closed.set_value();
  }

  // Called by the test. Sends a message; nullopt: the stream breaks or ends.
  void Put(std::optional<Message> message) {
    asio::post(*io_, [this, message = std::move(message)] {
      incoming_.push_back(message);
      Deliver();
    });
  }
  // Takes the next message; breaks the stream if `ok` is false.
  Message Take(bool ok = true) {
    std::promise<Message> promise;
    asio::post(*io_, [&] {
      wanted_ = [&promise](Message message) { promise.set_value(std::move(message)); };
      ok_ = ok;
      Offer();
    });
    return promise.get_future().get();
  }

  std::promise<void> closed;

 private:
  void Deliver() {
    if (reading_ == nullptr || incoming_.empty()) return;
    auto done = std::exchange(reading_, nullptr);
    done(std::exchange(incoming_.front(), std::nullopt));
    incoming_.pop_front();
  }
  void Offer() {
    if (taken_ == nullptr || wanted_ == nullptr) return;
    std::exchange(wanted_, nullptr)(std::move(written_));
    std::exchange(taken_, nullptr)(ok_);
  }

  const std::shared_ptr<asio::io_context> io_;
  std::deque<std::optional<Message>> incoming_;
  std::function<void(std::optional<Message>)> reading_;
  Message written_;
  std::function<void(bool)> taken_;
  std::function<void(Message)> wanted_;
  bool ok_ = true;
};

class SocketRelayTest : public testing::Test {
 protected:
  SocketRelayTest() {
    std::array<int, 2> ends = {};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    peer_ = Fd(ends[0]);
    socket_.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[1]);
    asio::co_spawn(*io_.context(), RelaySocket(socket_, stream_),
                   [this](const std::exception_ptr& thrown) {
                     EXPECT_EQ(thrown, nullptr);
                     ended_.set_value();
                   });
  }

  void Send(const std::string& text) {
    EXPECT_EQ(::send(peer_.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  std::string Receive() {
    std::array<char, 100> text = {};
    const ssize_t got = ::recv(peer_.get(), text.data(), text.size(), 0);
    return got > 0 ? std::string(text.data(), static_cast<size_t>(got)) : "";
  }
  void AwaitEnd() { ended_.get_future().wait(); }

  IoThread io_{"relay"};
  FakeStream stream_{io_.context()};
  StreamSocket socket_{*io_.context()};
  Fd peer_;
  std::promise<void> ended_;
};

TEST_F(SocketRelayTest, RelaysUntilBothDirectionsHaveEnded) {
  Send("ping");
  EXPECT_EQ(stream_.Take().data, "ping");
  stream_.Put(Message{.data = "pong"});
  EXPECT_EQ(Receive(), "pong");
  // The socket ends first, and still receives.
  ::shutdown(peer_.get(), SHUT_WR);
  EXPECT_TRUE(stream_.Take().end);
  stream_.Put(Message{.data = "bye", .end = true});
  EXPECT_EQ(Receive(), "bye");
  EXPECT_EQ(Receive(), "");
  stream_.closed.get_future().wait();
  AwaitEnd();
}

// Otherwise a connection whose client is gone would remain until the other side sends something.
TEST_F(SocketRelayTest, ClosesTheStream_WhenThePeerHasClosedItsSocket) {
  Send("last");
  peer_.Close();
  EXPECT_EQ(stream_.Take().data, "last");
  EXPECT_TRUE(stream_.Take().end);
  stream_.closed.get_future().wait();
  AwaitEnd();
}

TEST_F(SocketRelayTest, ClosesTheStream_WhenThePeerClosesAfterItsDirection) {
  ::shutdown(peer_.get(), SHUT_WR);
  EXPECT_TRUE(stream_.Take().end);
  stream_.Put(Message{.data = "more"});
  EXPECT_EQ(Receive(), "more");
  peer_.Close();
  stream_.closed.get_future().wait();
  AwaitEnd();
}

TEST_F(SocketRelayTest, SendsAfterTheStreamHasEndedItsDirection) {
  stream_.Put(Message{.data = "", .end = true});
  EXPECT_EQ(Receive(), "");
  Send("late");
  EXPECT_EQ(stream_.Take().data, "late");
  peer_.Close();
  EXPECT_TRUE(stream_.Take().end);
  stream_.closed.get_future().wait();
  AwaitEnd();
}

TEST_F(SocketRelayTest, ClosesTheSocket_WhenTheStreamBreaks) {
  stream_.Put(std::nullopt);
  EXPECT_EQ(Receive(), "");
  // The other direction notices, too.
  EXPECT_TRUE(stream_.Take(false).end);
  AwaitEnd();
}

TEST_F(SocketRelayTest, ClosesTheSocket_WhenTheStreamTakesNoMore) {
  Send("lost");
  EXPECT_EQ(stream_.Take(false).data, "lost");
  EXPECT_EQ(Receive(), "");
  stream_.Put(std::nullopt);
  AwaitEnd();
}

TEST_F(SocketRelayTest, ClosesTheStream_WhenTheSocketIsClosed) {
  peer_.Close();
  EXPECT_TRUE(stream_.Take().end);
  stream_.Put(Message{.data = "nobody reads this"});
  stream_.Put(Message{.data = "nor this"});
  stream_.closed.get_future().wait();
  AwaitEnd();
}

TEST_F(SocketRelayTest, StopsReadingTheSocket_WhileTheStreamTakesNothing) {
  const std::string piece(kMaxMessageBytes, 'x');
  // Fill all buffers: more than one message can be sent only while the relay reads.
  size_t sent = 0;
  ssize_t result = 0;
  int full = 0;
  while (full < 2) {
    result = ::send(peer_.get(), piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (result > 0) {
      sent += static_cast<size_t>(result);
      continue;
    }
    // The relay's thread has had its turn once it has run a function posted now.
    std::promise<void> turn;
    asio::post(*io_.context(), [&] { turn.set_value(); });
    turn.get_future().wait();
    ++full;
  }
  EXPECT_LT(sent, size_t{2} << 20);
  peer_.Close();
  size_t taken = 0;
  while (true) {
    const Message message = stream_.Take();
    EXPECT_LE(message.data.size(), kMaxMessageBytes);
    taken += message.data.size();
    if (message.end) break;
  }
  EXPECT_EQ(taken, sent);
  stream_.Put(Message{.data = "", .end = true});
  AwaitEnd();
}

TEST_F(SocketRelayTest, Ends_WhenItsOwnerClosesTheSocket) {
  asio::post(*io_.context(), [this] { socket_.close(); });
  EXPECT_TRUE(stream_.Take(false).end);
  stream_.Put(std::nullopt);
  EXPECT_EQ(Receive(), "");
  AwaitEnd();
}

}  // namespace
}  // namespace det::base
