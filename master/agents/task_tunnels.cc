#include "master/agents/task_tunnels.h"

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/await.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/socket_relay.h"
#include "master/auth/tokens.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace det::agents {
namespace {

namespace asio = boost::asio;
namespace wire = det::agent::v1;
using asio::ip::tcp;
using base::Await;
using base::Catch;
using boost::system::error_code;

// After that, a tunnel is tried: a firewall may drop packets silently.
constexpr auto kDirectTimeout = std::chrono::seconds(2);

absl::Status StoppingError() { return absl::UnavailableError("the master is stopping"); }

}  // namespace

// A call of Tunnel. Keeps itself alive until OnDone.
class TaskTunnels::Tunnel final : public TaskTunnels::Reactor,
                                  public base::MessageStream,
                                  public std::enable_shared_from_this<Tunnel> {
 public:
  Tunnel(std::shared_ptr<TaskTunnels> owner, grpc::CallbackServerContext* context)
      : owner_(std::move(owner)), context_(context), io_(owner_->io_.context()), socket_(*io_) {}

  void Start(Authorize authorize) {
    self_ = shared_from_this();
    authorize([self = self_](const absl::Status& admitted) {
      if (!admitted.ok()) return self->Finish(ToGrpc(admitted));
      if (!self->owner_->Add(self.get())) return self->Finish(ToGrpc(StoppingError()));
    });
  }
  // REQUIRES that the owner has this tunnel.
  void Spawn() { asio::co_spawn(*io_, Run(shared_from_this()), asio::detached); }
  void Cancel() { context_->TryCancel(); }

  void OnReadDone(bool ok) override { std::exchange(on_read_, nullptr)(ok); }
  void OnWriteDone(bool ok) override {
    std::string().swap(*out_.mutable_data());  // an idle tunnel has no buffer
    std::exchange(on_write_, nullptr)(ok);
  }
  // A relay that waits for its socket notices the end of the call by this only.
  void OnCancel() override {
    asio::post(*io_, [weak = weak_from_this()] {
      error_code ignored;
      if (const auto self = weak.lock()) self->socket_.close(ignored);
    });
  }
  void OnDone() override {
    owner_->Remove(this);
    const std::shared_ptr<Tunnel> self = std::move(self_);
  }

 private:
  asio::awaitable<void> Run([[maybe_unused]] std::shared_ptr<Tunnel> self) {
    const grpc::Status status = co_await Serve();
    if (!finished_) Finish(status);
  }

  asio::awaitable<grpc::Status> Serve() {
    if (!co_await ReadNext()) co_return grpc::Status::CANCELLED;
    std::optional<Pending> pending = owner_->TakeFor(in_.id(), in_.incarnation());
    if (!pending) {
      co_return grpc::Status(grpc::StatusCode::NOT_FOUND,
                             "the master does not wait for this tunnel");
    }
    if (!in_.error().empty()) {
      pending->reply(absl::UnavailableError(
          absl::StrCat("agent ", pending->connection->agent.value(), ": ", in_.error())));
      co_return grpc::Status::OK;
    }
    std::array<int, 2> ends = {};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
      pending->reply(absl::UnavailableError(
          "the master has too many open files; raise its limit (ulimit -n)"));
      co_return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many open files");
    }
    socket_.assign(asio::generic::stream_protocol(AF_UNIX, 0), ends[0]);
    pending->reply(base::Fd(ends[1]));
    pending.reset();
    co_await base::RelaySocket(socket_, *this);
    co_return grpc::Status::CANCELLED;
  }

  asio::awaitable<bool> ReadNext() {
    return Await<bool>(
        [this](auto done) {
          on_read_ = std::move(done);
          StartRead(&in_);
        },
        io_);
  }

  asio::awaitable<std::optional<Message>> Read() override {
    return Await<std::optional<Message>>(
        [this](auto done) {
          // After Finish, the call may be gone.
          if (finished_) return done(std::nullopt);
          on_read_ = [this, done = std::move(done)](bool ok) {
            if (!ok) return done(std::nullopt);
            done(Message{std::move(*in_.mutable_data()), in_.end()});
          };
          StartRead(&in_);
        },
        io_);
  }

  asio::awaitable<bool> Write(Message& message) override {
    out_.set_data(std::move(message.data));
    out_.set_end(message.end);
    return Await<bool>(
        [this](auto done) {
          on_write_ = std::move(done);
          StartWrite(&out_);
        },
        io_);
  }

  void Close() override {
    finished_ = true;
    Finish(grpc::Status::OK);
  }

  const std::shared_ptr<TaskTunnels> owner_;
  grpc::CallbackServerContext* const context_;
  const std::shared_ptr<asio::io_context> io_;
  std::shared_ptr<Tunnel> self_;
  base::StreamSocket socket_;
  std::function<void(bool)> on_read_;
  std::function<void(bool)> on_write_;
  wire::TunnelData in_;
  wire::TunnelData out_;
  bool finished_ = false;
};

TaskTunnels::TaskTunnels(TunnelOptions options, base::EventLoop* loop)
    : options_(std::move(options)), loop_(loop) {}

void TaskTunnels::Dial(AgentRoute route, int port, proxy::Interface interface, Reply reply) {
  if (port < 1 || port > 65535) {
    return reply(absl::InvalidArgumentError(absl::StrCat(port, " is not a port")));
  }
  const bool same_machine = !options_.machine_id.empty() && route.machine_id == options_.machine_id;
  // Another program may listen on the port of a service at the address.
  const bool direct = options_.direct && interface == proxy::Interface::kAny;
  if (!same_machine && (!direct || route.address.empty())) {
    return OpenTunnel(route, port, std::move(reply));
  }
  std::unique_lock lock(mutex_);
  if (stopped_) {
    lock.unlock();
    return reply(StoppingError());
  }
  asio::co_spawn(*io_.context(),
                 DialDirectly(std::move(route), same_machine, port, std::move(reply)),
                 asio::detached);
}

asio::awaitable<void> TaskTunnels::DialDirectly(AgentRoute route, bool same_machine, int port,
                                                Reply reply) {
  asio::io_context& io = *io_.context();
  const auto socket = std::make_shared<tcp::socket>(io);
  asio::steady_timer deadline(io, kDirectTimeout);
  // The timer may have expired already when it is canceled, hence the shared socket.
  const auto expired = std::make_shared<bool>(false);
  deadline.async_wait([socket, expired](const error_code& canceled) {
    if (canceled) return;
    error_code ignored;
    *expired = true;
    socket->close(ignored);
  });
  error_code error;
  tcp::resolver resolver(io);
  tcp::resolver::results_type targets;
  if (same_machine) {
    targets = tcp::resolver::results_type::create(
        tcp::endpoint(asio::ip::address_v4::loopback(), static_cast<uint16_t>(port)), "", "");
  } else {
    const std::string service = absl::StrCat(port);
    targets = co_await resolver.async_resolve(route.address, service, Catch(error));
  }
  // A connection that begins later would have no deadline.
  if (!error && *expired) error = asio::error::timed_out;
  if (!error) co_await asio::async_connect(*socket, targets, Catch(error));
  deadline.cancel();
  if (!error) socket->set_option(tcp::no_delay(true), error);
  if (!error) socket->native_non_blocking(true, error);
  if (!error) co_return reply(base::Fd(socket->release()));
  // Many programs listen on the loopback interface only.
  if (!same_machine) co_return OpenTunnel(route, port, std::move(reply));
  reply(absl::UnavailableError(
      error == asio::error::connection_refused
          ? absl::StrCat("agent ", route.agent.value(), ": nobody listens on port ", port)
          : absl::StrCat("cannot connect to port ", port, ": ", error.message())));
}

void TaskTunnels::OpenTunnel(const AgentRoute& route, int port, Reply reply) {
  if (route.connection == nullptr) {
    return reply(absl::UnavailableError(
        absl::StrCat("agent ", route.agent.value(), " is not connected; retry later")));
  }
  wire::MasterMessage message;
  message.mutable_open_tunnel()->set_id(auth::NewToken());
  message.mutable_open_tunnel()->set_port(port);
  const std::string& id = message.open_tunnel().id();
  std::unique_lock lock(mutex_);
  if (stopped_) {
    lock.unlock();
    return reply(StoppingError());
  }
  const base::TimerId timer =
      loop_->PostAfter(options_.timeout, [weak = weak_from_this(), id, port] {
        const auto self = weak.lock();
        std::optional<Pending> late = self == nullptr ? std::nullopt : self->Take(id);
        if (!late) return;
        late->reply(absl::UnavailableError(
            absl::StrCat("agent ", late->connection->agent.value(), " has not connected to port ",
                         port, " within ", absl::FormatDuration(self->options_.timeout),
                         "; if its version is older than the master's, upgrade it")));
      });
  pending_.emplace(id, Pending{route.connection, std::move(reply), timer});
  lock.unlock();
  route.connection->Send(std::move(message));
}

TaskTunnels::Reactor* TaskTunnels::Accept(grpc::CallbackServerContext* context,
                                          Authorize authorize) {
  const auto tunnel = std::make_shared<Tunnel>(shared_from_this(), context);
  tunnel->Start(std::move(authorize));
  return tunnel.get();
}

std::optional<TaskTunnels::Pending> TaskTunnels::Take(const std::string& id) {
  std::lock_guard lock(mutex_);
  auto taken = pending_.extract(id);
  if (taken.empty()) return std::nullopt;
  return std::move(taken.mapped());
}

std::optional<TaskTunnels::Pending> TaskTunnels::TakeFor(const std::string& id,
                                                         const std::string& incarnation) {
  std::lock_guard lock(mutex_);
  const auto found = pending_.find(id);
  if (found == pending_.end() || found->second.connection->incarnation != incarnation) {
    return std::nullopt;
  }
  loop_->Cancel(found->second.timer);
  return std::move(pending_.extract(found).mapped());
}

void TaskTunnels::OnDisconnected(const AgentConnection* connection) {
  FailPending(connection, absl::UnavailableError(absl::StrCat("agent ", connection->agent.value(),
                                                              " has disconnected; retry")));
}

void TaskTunnels::FailPending(const AgentConnection* connection, const absl::Status& why) {
  std::vector<Reply> failed;
  {
    std::lock_guard lock(mutex_);
    for (auto it = pending_.begin(); it != pending_.end();) {
      Pending& each = it->second;
      if (connection != nullptr && each.connection.get() != connection) {
        ++it;
        continue;
      }
      loop_->Cancel(each.timer);
      failed.push_back(std::move(each.reply));
      it = pending_.erase(it);
    }
  }
  for (Reply& reply : failed) reply(why);
}

void TaskTunnels::CloseAll(const absl::Status& why) {
  FailPending(nullptr, why);
  std::lock_guard lock(mutex_);
  for (Tunnel* tunnel : tunnels_) tunnel->Cancel();
}

void TaskTunnels::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  CloseAll(StoppingError());
  io_.Stop();
}

bool TaskTunnels::Add(Tunnel* tunnel) {
  std::lock_guard lock(mutex_);
  if (stopped_) return false;
  tunnels_.insert(tunnel);
  tunnel->Spawn();
  return true;
}

void TaskTunnels::Remove(Tunnel* tunnel) {
  std::lock_guard lock(mutex_);
  tunnels_.erase(tunnel);
}

}  // namespace det::agents
