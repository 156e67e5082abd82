#include "master/agents/certificate_required.h"

#include "det/agent/v1/agent.grpc.pb.h"
#include <grpcpp/grpcpp.h>

namespace det::agents {
namespace {

namespace wire = det::agent::v1;

grpc::Status Refusal() {
  return {grpc::StatusCode::PERMISSION_DENIED,
          "this master requires a client certificate signed by its --tls-client-ca, and the agent "
          "presented no valid one; start the agent with an https:// master address, --tls-cert and "
          "--tls-key"};
}

template <class Reactor>
class Refuser final : public Reactor {
 public:
  Refuser() { this->Finish(Refusal()); }
  void OnDone() override { delete this; }
};

class CertificateRequiredService final : public wire::AgentHub::CallbackService {
 public:
  grpc::ServerBidiReactor<wire::AgentMessage, wire::MasterMessage>* Connect(
      grpc::CallbackServerContext*) override {
    return new Refuser<grpc::ServerBidiReactor<wire::AgentMessage, wire::MasterMessage>>;
  }
  grpc::ServerUnaryReactor* PostLogs(grpc::CallbackServerContext* context,
                                     const wire::PostLogsRequest*,
                                     wire::PostLogsResponse*) override {
    auto* reactor = context->DefaultReactor();
    reactor->Finish(Refusal());
    return reactor;
  }
  grpc::ServerWriteReactor<wire::GetContextResponse>* GetContext(
      grpc::CallbackServerContext*, const wire::GetContextRequest*) override {
    return new Refuser<grpc::ServerWriteReactor<wire::GetContextResponse>>;
  }
  grpc::ServerBidiReactor<wire::TunnelData, wire::TunnelData>* Tunnel(
      grpc::CallbackServerContext*) override {
    return new Refuser<grpc::ServerBidiReactor<wire::TunnelData, wire::TunnelData>>;
  }
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCertificateRequiredService() {
  return std::make_unique<CertificateRequiredService>();
}

}  // namespace det::agents
