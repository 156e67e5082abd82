// The master's public port, plaintext or TLS (tls_keys.h): HTTP/1.1 (the API as JSON, metrics, an
// information page) and gRPC, distinguished by their first bytes. gRPC connections are handed to
// the server in this process. HTTP requests become calls of the same services: unary ones by
// HttpHooks::call, without gRPC's transport, and streams over an in-memory channel of the server.
//
// Created by master.cc; has its own threads. Independent of concrete services: it uses their
// descriptors.
#ifndef MASTER_GATEWAY_HTTP_SERVER_H_
#define MASTER_GATEWAY_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fd.h"
#include "master/gateway/openapi.h"
#include "master/gateway/proxied_service.h"
#include "master/gateway/rpc.h"
#include "master/gateway/static_files.h"
#include "master/gateway/tls_keys.h"

namespace google::protobuf {
class Message;
class ServiceDescriptor;
}  // namespace google::protobuf
namespace grpc {
class Server;
}  // namespace grpc

namespace det::proto {
class WrittenParts;
}  // namespace det::proto

namespace det::gateway {

// The methods that begin and end a browser session (session_cookie.h).
struct SessionMethods {
  std::string begin;  // "det.api.v1.AuthService.Login"; its response has a `token`
  std::string end;
  absl::Duration lifetime;
};

struct HttpOptions {
  std::string bind = "127.0.0.1";
  int port = 8080;  // 0: any free port
  int socket = -1;  // from BindPort with the same bind and port; owned by the server; -1: none
  int threads = 2;
  uint64_t body_limit = uint64_t{128} << 20;  // of the decompressed body
  int connection_limit = 10'000;              // HTTP and gRPC together; more are closed
  std::string about;                          // the text of GET /
  std::vector<std::string>
      allow_origins;             // origins whose pages may call; "*": all; see docs/api.md
  std::shared_ptr<TlsKeys> tls;  // TLS on the port; nullptr: plaintext
  // The gRPC server for connections with a client certificate of the authority in `tls`; nullptr:
  // the same server as for all others. Must outlive the HttpServer.
  grpc::Server* agents = nullptr;
  std::chrono::milliseconds handshake_limit{10'000};  // timeout of the TLS handshake
  // The dashboard, served to browsers at / and at all unknown paths; nullptr: none.
  std::shared_ptr<const StaticFiles> pages;
  // Methods that wait for an event: their calls end when the client disconnects. Other calls are
  // answered even if the client has half-closed the connection.
  std::set<std::string> long_polls;
  SessionMethods session;  // cookie sessions of browsers; empty: none
  ApiSource api;           // for /api/v1/openapi.json; not served without descriptors
};

// What is known about the caller from the request's headers.
struct AuthorizedCaller {
  bool identified = false;  // by a token; otherwise request bodies are limited to 64 KiB
  // A secret that the call carries as x-authorization-ticket, so that the service knows this
  // decision; may be empty. Never sent to the client.
  std::string ticket;
};

// What one client of the websocket /stream gets.
class UpdateFeed {
 public:
  using Reply = absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;
  virtual ~UpdateFeed() = default;
  // Replies with the next messages for the client, none if there is nothing new; may reply later,
  // from any thread. `request` is a message of the client to take into account first. Called again
  // only after the reply. An error ends the connection: INVALID_ARGUMENT for a bad request.
  virtual void Next(std::optional<std::string> request, Reply reply) = 0;
};

// A unary call within the process.
struct LocalCall {
  std::string method;  // "det.api.v1.TrialService.GetTrial"
  std::shared_ptr<const google::protobuf::Message> request;
  std::shared_ptr<google::protobuf::Message> response;
  std::shared_ptr<proto::WrittenParts> written;  // parts of the response that are JSON already
  Metadata metadata;
};

struct HttpHooks {
  // Checks whether the bearer of this Authorization header may call the method
  // ("det.api.v1.TrialService.GetTrial"), before the body is read. May reply later, from any
  // thread. If null, all calls are allowed, and any header identifies the caller.
  std::function<void(const std::string& method, const std::string& authorization,
                     absl::AnyInvocable<void(absl::StatusOr<AuthorizedCaller>)> reply)>
      authorize;
  // Calls a unary method, which authorizes its caller itself. Must reply once, on any thread; the
  // returned function cancels the call. If null, unary methods are called by gRPC.
  std::function<std::function<void()>(LocalCall call, absl::AnyInvocable<void(absl::Status)> reply)>
      call;
  // Produces the text of GET /metrics; may reply later, from any thread.
  std::function<void(absl::AnyInvocable<void(std::string)> reply)> metrics;
  // Opens the feed of a client with this Authorization header. The feed calls `wake`, from any
  // thread, when it may have news. May reply later, from any thread. If null, there is no /stream.
  std::function<void(const std::string& authorization, std::function<void()> wake,
                     absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<UpdateFeed>>)> reply)>
      open_updates;
  // Opens the service of a task for a request to /proxy/<service>/. May reply later, from any
  // thread. NOT_FOUND if there is none that the caller may see, UNAUTHENTICATED, PERMISSION_DENIED,
  // FAILED_PRECONDITION if its task has ended, UNAVAILABLE if it is not ready, RESOURCE_EXHAUSTED
  // if it has too many connections. If null, nothing is proxied.
  std::function<void(const std::string& service, ServiceCredentials credentials,
                     absl::AnyInvocable<void(absl::StatusOr<OpenedService>)> reply)>
      open_service;
  // Called after each response with its HTTP status; any thread.
  std::function<void(int status)> on_response;
};

// Binds the port before the master does anything irreversible. Connections are refused until a
// server is started on it. ALREADY_EXISTS if another process listens on it.
absl::StatusOr<base::Fd> BindPort(const HttpOptions& options);

class HttpServer {
 public:
  // Listens and serves. ALREADY_EXISTS if the port is in use. `server` must have the services and
  // outlive the result.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      HttpOptions options, HttpHooks hooks, grpc::Server* server,
      const std::vector<const google::protobuf::ServiceDescriptor*>& services);
  ~HttpServer();

  int port() const;

  // Stops accepting connections and handing them to gRPC. Must be called before the gRPC server's
  // Shutdown. Open connections continue.
  void StopAccepting();
  // Closes all connections. Must be called after the gRPC server's Shutdown, which ends the calls
  // that they wait for.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_SERVER_H_
