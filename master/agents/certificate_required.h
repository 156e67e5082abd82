// What agents meet who have shown no certificate to a master that wants one: every method of their
// protocol refuses, with what to do.
//
// Registered by master.cc with the gRPC server of everybody else; those with certificates are lent
// to another (gateway/http_server.h), which has the hub. So no word of a client decides which.
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
