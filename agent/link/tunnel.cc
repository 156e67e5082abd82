#include "agent/link/tunnel.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "base/io_thread.h"
#include "base/log.h"
#include "base/socket_relay.h"
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

namespace det::agent {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Await;
using base::Catch;
using boost::system::error_code;

// Connects to the port; returns why it cannot, or "".
asio::awaitable<std::string> ConnectToPort(base::StreamSocket& socket, int port) {
  if (port < 1 || port > 65535) co_return absl::StrCat(port, " is not a port");
  const tcp::endpoint target(asio::ip::address_v4::loopback(), static_cast<uint16_t>(port));
  error_code error;
  co_await socket.async_connect(target, Catch(error));
  if (error == asio::error::connection_refused) {
    co_return absl::StrCat("nobody listens on port ", port);
  }
  if (error) co_return absl::StrCat("cannot connect to port ", port, ": ", error.message());
  socket.set_option(tcp::no_delay(true), error);
  co_return "";
}

}  // namespace

struct Tunnels::Threads {
  Completions completions{nullptr};
  std::set<Tunnel*> tunnels;  // used on the thread below
  base::IoThread io{"tunnels"};
};

// One call. Pending operations keep it alive.
class Tunnels::Tunnel final : public base::MessageStream,
                              public std::enable_shared_from_this<Tunnel> {
 public:
  Tunnel(Threads& threads, const std::shared_ptr<PendingCalls>& calls,
         std::shared_ptr<v1::AgentHub::Stub> stub)
      : threads_(threads),
        io_(threads.io.context()),
        stub_(std::move(stub)),
        context_(calls),
        socket_(*io_) {}

  CallContext& context() { return context_; }
  void CloseSocket() {
    error_code ignored;
    socket_.close(ignored);
  }

  asio::awaitable<void> Run([[maybe_unused]] std::shared_ptr<Tunnel> self, v1::TunnelData first,
                            int port) {
    threads_.tunnels.insert(this);
    const std::string error = co_await ConnectToPort(socket_, port);
    first.set_error(error);
    call_ = stub_->PrepareAsyncTunnel(&*context_, threads_.completions.queue());
    const bool started = co_await AwaitCompletion([&](void* tag) { call_->StartCall(tag); });
    // If the call cannot be started, the same error breaks all that follows.
    const bool written =
        started && co_await AwaitCompletion([&](void* tag) { call_->Write(first, tag); });
    if (written && error.empty()) co_await base::RelaySocket(socket_, *this);
    CloseSocket();
    grpc::Status status;
    co_await AwaitCompletion([&](void* tag) { call_->Finish(&status, tag); });
    DET_LOG(DEBUG) << "tunnel ended" << base::Field("port", port)
                   << base::Field("status", ToStatus(status));
    threads_.tunnels.erase(this);
  }

 private:
  asio::awaitable<std::optional<Message>> Read() override {
    return Await<std::optional<Message>>(
        [this](auto done) {
          const auto completed = [this, done = std::move(done)](bool ok) {
            if (!ok) return done(std::nullopt);
            done(Message{std::move(*incoming_.mutable_data()), incoming_.end()});
          };
          call_->Read(&incoming_, Completions::Tag(completed));
        },
        io_);
  }

  asio::awaitable<bool> Write(Message& message) override {
    v1::TunnelData outgoing;
    outgoing.set_data(std::move(message.data));
    outgoing.set_end(message.end);
    return AwaitCompletion(
        [this, outgoing = std::move(outgoing)](void* tag) { call_->Write(outgoing, tag); });
  }

  void Close() override {
    call_->WritesDone(Completions::Tag([](bool) {}));
  }

  // Calls `start` with a tag, and yields whether its operation has succeeded.
  template <class Start>
  asio::awaitable<bool> AwaitCompletion(Start start) {
    return Await<bool>(
        [start = std::move(start)](auto done) { start(Completions::Tag(std::move(done))); }, io_);
  }

  Threads& threads_;
  const std::shared_ptr<asio::io_context> io_;
  const std::shared_ptr<v1::AgentHub::Stub> stub_;
  CallContext context_;
  base::StreamSocket socket_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::TunnelData, v1::TunnelData>> call_;
  v1::TunnelData incoming_;
};

Tunnels::Tunnels(const std::shared_ptr<PendingCalls>& calls) : calls_(calls) {}
Tunnels::~Tunnels() = default;

void Tunnels::Open(std::shared_ptr<v1::AgentHub::Stub> stub,
                   const std::function<void(grpc::ClientContext&)>& authorize,
                   const std::string& incarnation, const v1::OpenTunnel& order) {
  if (threads_ == nullptr) threads_ = std::make_unique<Threads>();
  const auto tunnel = std::make_shared<Tunnel>(*threads_, calls_, std::move(stub));
  if (!tunnel->context().open()) return;
  authorize(*tunnel->context());
  v1::TunnelData first;
  first.set_id(order.id());
  first.set_incarnation(incarnation);
  asio::co_spawn(*threads_->io.context(), tunnel->Run(tunnel, std::move(first), order.port()),
                 asio::detached);
}

void Tunnels::Close() {
  if (threads_ == nullptr) return;
  asio::post(*threads_->io.context(), [threads = threads_.get()] {
    for (Tunnel* tunnel : threads->tunnels) tunnel->CloseSocket();
  });
  threads_->io.Stop();
  threads_->completions.Close();
  threads_.reset();
}

}  // namespace det::agent
