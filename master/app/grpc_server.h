// A gRPC server without a listening port: the gateway passes connections to it. For master.cc.
#ifndef MASTER_APP_GRPC_SERVER_H_
#define MASTER_APP_GRPC_SERVER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

namespace grpc {
class Server;
class Service;
}  // namespace grpc

namespace det::app {

// The services must outlive it. `body_mib`: maximum message size, as in the gateway. Includes
// health and reflection services, which are public (auth/permissions.cc).
absl::StatusOr<std::unique_ptr<grpc::Server>> StartGrpc(const std::vector<grpc::Service*>& services,
                                                        int body_mib);

}  // namespace det::app

#endif  // MASTER_APP_GRPC_SERVER_H_
