#include "master/gateway/http_server.h"

#include <sys/socket.h>

#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/gateway/http_session.h"
#include "master/gateway/idle_connections.h"
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <grpcpp/grpcpp.h>

namespace det::gateway {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::beast::tcp_stream;

absl::Status ListenError(const HttpOptions& options, const boost::system::error_code& error) {
  if (error == asio::error::address_in_use) {
    return absl::AlreadyExistsError(
        absl::StrCat("port ", options.port, " is in use; choose another with --port"));
  }
  return absl::InternalError(absl::StrCat("cannot listen on ", options.bind, ":", options.port,
                                          ": ", error.message(),
                                          "; choose another with --bind and --port"));
}

}  // namespace

absl::StatusOr<base::Fd> BindPort(const HttpOptions& options) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(options.bind, error);
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bind ", options.bind, " is not an IP address; try 127.0.0.1 or 0.0.0.0"));
  }
  const tcp::endpoint endpoint(address, static_cast<uint16_t>(options.port));
  base::Fd socket(::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket.valid() ||
      ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      ::bind(socket.get(), endpoint.data(), static_cast<socklen_t>(endpoint.size())) != 0) {
    return ListenError(options, {errno, boost::system::system_category()});
  }
  return socket;
}

class HttpServer::Impl : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(std::shared_ptr<HttpContext> context)
      : context_(std::move(context)), io_(context_->rpc.io()), acceptor_(asio::make_strand(*io_)) {}

  absl::Status Listen();
  void Run();
  void RunThread();
  void StopAccepting();
  void Stop();
  int port() const { return port_; }

 private:
  asio::awaitable<void> Accept();
  void Serve(tcp::socket socket);
  // True if there is room for it.
  bool Enter(const std::shared_ptr<tcp_stream>& stream);
  void Leave(const std::shared_ptr<tcp_stream>& stream);

  const std::shared_ptr<HttpContext> context_;
  const std::shared_ptr<asio::io_context> io_;
  tcp::acceptor acceptor_;
  int port_ = 0;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable empty_;
  std::set<std::shared_ptr<tcp_stream>> open_;
  bool stopped_ = false;
};

absl::Status HttpServer::Impl::Listen() {
  int& bound = context_->options.socket;
  if (bound < 0) {
    DET_ASSIGN_OR_RETURN(base::Fd own, BindPort(context_->options));
    bound = own.Release();
  }
  base::Fd socket(std::exchange(bound, -1));
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  boost::system::error_code error;
  acceptor_.assign(address.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket.get(), error);
  if (!error) socket.Release();
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return ListenError(context_->options, error);
  port_ = acceptor_.local_endpoint().port();
  return absl::OkStatus();
}

void HttpServer::Impl::Run() {
  asio::co_spawn(acceptor_.get_executor(), Accept(), asio::detached);
  for (int i = 0; i < context_->options.threads; ++i) {
    threads_.emplace_back([this] { RunThread(); });
  }
}

void HttpServer::Impl::RunThread() {
  // An exception, which a library throws for what a peer has sent, ends that connection only.
  while (true) {
    try {
      io_->run();
      return;
    } catch (const std::exception& error) {
      DET_LOG(ERROR) << "a connection has failed" << base::Field("error", error.what());
    }
  }
}

asio::awaitable<void> HttpServer::Impl::Accept() {
  asio::steady_timer pause(acceptor_.get_executor());
  while (acceptor_.is_open()) {
    boost::system::error_code error;
    tcp::socket socket = co_await acceptor_.async_accept(
        asio::make_strand(*io_), asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted || !acceptor_.is_open()) break;
    if (!error) {
      Serve(std::move(socket));
      continue;
    }
    // Most likely out of file descriptors: wait for some to be closed.
    DET_LOG(WARNING) << "cannot accept a connection" << base::Field("error", error.message());
    pause.expires_after(std::chrono::milliseconds(100));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
  }
}

void HttpServer::Impl::Serve(tcp::socket socket) {
  auto stream = std::make_shared<tcp_stream>(std::move(socket));
  if (!Enter(stream)) return;
  auto executor = stream->get_executor();
  asio::co_spawn(executor, ServeConnection(context_, stream),
                 [self = shared_from_this(), stream](const std::exception_ptr& failure) {
                   self->Leave(stream);
                   if (!failure) return;
                   try {
                     std::rethrow_exception(failure);
                   } catch (const std::exception& error) {
                     DET_LOG(ERROR) << "a connection failed" << base::Field("error", error.what());
                   }
                 });
}

bool HttpServer::Impl::Enter(const std::shared_ptr<tcp_stream>& stream) {
  std::lock_guard lock(mutex_);
  if (stopped_ || open_.size() >= static_cast<size_t>(context_->options.connection_limit)) {
    return false;
  }
  open_.insert(stream);
  return true;
}

void HttpServer::Impl::Leave(const std::shared_ptr<tcp_stream>& stream) {
  std::lock_guard lock(mutex_);
  open_.erase(stream);
  if (open_.empty()) empty_.notify_all();
}

// A posted handler may never run: if it owned this, this would be leaked.
void HttpServer::Impl::StopAccepting() {
  context_->handoff.End();
  asio::post(acceptor_.get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  });
}

void HttpServer::Impl::Stop() {
  {
    std::unique_lock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    StopAccepting();
    for (const std::shared_ptr<tcp_stream>& stream : open_) {
      asio::post(stream->get_executor(), [stream] { stream->close(); });
    }
    // Their calls have ended already; the limit is a safeguard.
    empty_.wait_for(lock, std::chrono::seconds(3), [this] { return open_.empty(); });
  }
  io_->stop();
  for (std::thread& thread : threads_) thread.join();
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    HttpOptions options, HttpHooks hooks, grpc::Server* server,
    const std::vector<const google::protobuf::ServiceDescriptor*>& services) {
  DET_ASSIGN_OR_RETURN(Transcoder transcoder, Transcoder::Make(services));
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  ApiSource api = options.api;
  auto context = std::shared_ptr<HttpContext>(new HttpContext{
      std::move(options), std::move(hooks), server, std::move(transcoder),
      Rpc(std::make_shared<asio::io_context>(), server->InProcessChannel(arguments)),
      OpenApi(std::move(api))});
  context->idle_connections = std::make_shared<IdleConnections>(context->rpc.io());
  auto impl = std::make_shared<Impl>(std::move(context));
  DET_RETURN_IF_ERROR(impl->Listen());
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(); }
int HttpServer::port() const { return impl_->port(); }
void HttpServer::StopAccepting() { impl_->StopAccepting(); }
void HttpServer::Stop() { impl_->Stop(); }

}  // namespace det::gateway
