// A gRPC server that listens nowhere: the gateway lends it connections.
// For master.cc.
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

// The services must outlive it. `body_mib`: what the gateway takes passes here too. With health and
// reflection, which are open to all (auth/permissions.cc).
absl::StatusOr<std::unique_ptr<grpc::Server>> StartGrpc(const std::vector<grpc::Service*>& services,
                                                        int body_mib);

}  // namespace det::app

#endif  // MASTER_APP_GRPC_SERVER_H_
