// The master's one public port, in the clear or behind TLS (tls_keys.h): HTTP/1.1 (the API as JSON,
// metrics, a page that says what this is) and gRPC, told apart by their first bytes. gRPC
// connections are lent to the server in this process; HTTP requests become calls of the same server
// over a channel in memory, so both pass the same services.
//
// Made by master.cc; has threads of its own. Knows no service: it works by descriptors.
#ifndef MASTER_GATEWAY_HTTP_SERVER_H_
#define MASTER_GATEWAY_HTTP_SERVER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/fd.h"
#include "master/gateway/openapi.h"
#include "master/gateway/session_methods.h"
#include "master/gateway/static_files.h"
#include "master/gateway/tls_keys.h"

namespace google::protobuf {
class ServiceDescriptor;
}  // namespace google::protobuf
namespace grpc {
class Server;
}  // namespace grpc

namespace det::gateway {

struct HttpOptions {
  std::string bind = "127.0.0.1";
  int port = 8080;  // 0: any free one
  int socket = -1;  // of BindPort with the same bind and port, now the server's; -1: none
  int threads = 2;
  uint64_t body_limit = uint64_t{128} << 20;  // after what gzip saves
  int connection_limit = 10'000;              // HTTP and gRPC together; those above it are closed
  std::string about;                          // the text of GET /
  std::vector<std::string> allow_origins;     // whose pages may call; "*": all; see docs/api.md
  std::shared_ptr<TlsKeys> tls;  // the port speaks TLS and nothing else; nullptr: no TLS
  // Whom gRPC connections are lent to whose client showed a certificate by the client authority of
  // `tls`; nullptr: the same as all. Must outlive the server.
  grpc::Server* agents = nullptr;
  std::chrono::milliseconds handshake_limit{10'000};  // of TLS, from the connection on
  // What browsers are shown at / and at addresses that nothing else has; nullptr: nothing.
  std::shared_ptr<const StaticFiles> pages;
  // Methods that wait for something to happen: their calls end when the client goes away. Others
  // are answered, also to one that has said that it will send no more.
  std::set<std::string> long_polls;
  SessionMethods session;  // of browsers, by cookie; empty: none
  ApiSource api;           // for /api/v1/openapi.json; without descriptors: none
};

// What a request's headers tell of its caller.
struct AuthorizedCaller {
  bool identified = false;  // by a token; whoever is not gets little memory
};

struct HttpHooks {
  // Whether the bearer of this Authorization header may call the method
  // ("det.api.v1.TrialService.GetTrial"); asked before anything of the body is read. May answer
  // later, from any thread. If null, all may, and any header identifies.
  std::function<void(const std::string& method, const std::string& authorization,
                     absl::AnyInvocable<void(absl::StatusOr<AuthorizedCaller>)> reply)>
      authorize;
  // Writes the text of GET /metrics; may answer later, from any thread.
  std::function<void(absl::AnyInvocable<void(std::string)> reply)> metrics;
  // After each answer, with its HTTP status; any thread.
  std::function<void(int status)> on_response;
};

// Takes the port, before anything is done that could not be undone. Connections to it are refused
// until a server is started on it. ALREADY_EXISTS when somebody listens there.
absl::StatusOr<base::Fd> BindPort(const HttpOptions& options);

class HttpServer {
 public:
  // Listens and serves. ALREADY_EXISTS when the port is taken. `server` must outlive the result and
  // carry the services.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      HttpOptions options, HttpHooks hooks, grpc::Server* server,
      const std::vector<const google::protobuf::ServiceDescriptor*>& services);
  ~HttpServer();

  int port() const;

  // Accepts no more connections, and lends none to gRPC from now on: to be called before the gRPC
  // server's Shutdown. Those that are open go on.
  void StopAccepting();
  // Ends all connections. To be called after the gRPC server's Shutdown, which ends the calls that
  // they wait for.
  void Stop();

 private:
  class Impl;
  explicit HttpServer(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_HTTP_SERVER_H_
