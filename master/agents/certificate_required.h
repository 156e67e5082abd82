// The agent service for clients without a certificate, if the master requires one: every method
// returns an error that tells what to do.
//
// master.cc registers it with the public gRPC server; connections with a client certificate are
// passed to another server, which has the hub (gateway/http_server.h). So nothing that a client
// sends selects the server.
#ifndef MASTER_AGENTS_CERTIFICATE_REQUIRED_H_
#define MASTER_AGENTS_CERTIFICATE_REQUIRED_H_

#include <memory>

namespace grpc {
class Service;
}  // namespace grpc

namespace det::agents {

std::unique_ptr<grpc::Service> MakeCertificateRequiredService();

}  // namespace det::agents

#endif  // MASTER_AGENTS_CERTIFICATE_REQUIRED_H_
