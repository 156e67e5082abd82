// A stream that ends at unexpected times.
#include "master/agents/agent_connection.h"

#include <future>
#include <memory>
#include <utility>

#include "det/agent/v1/agent.grpc.pb.h"
#include "gtest/gtest.h"
#include <grpcpp/grpcpp.h>

namespace det::agents {
namespace {

namespace wire = det::agent::v1;

// Stores authorization requests, to which the test responds.
class Owner final : public AgentConnectionOwner {
 public:
  void Authorize(std::string, absl::AnyInvocable<void(absl::Status)> done) override {
    authorization.set_value(std::move(done));
  }
  void Register(const std::shared_ptr<AgentConnection>&, const wire::Register&) override {}
  void Submit(cluster::Event, absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)>) override {}
  void OnDisconnected(const AgentConnection*) override { disconnected.set_value(); }

  std::promise<absl::AnyInvocable<void(absl::Status)>> authorization;
  std::promise<void> disconnected;
};

class Hub final : public wire::AgentHub::CallbackService {
 public:
  explicit Hub(std::shared_ptr<Owner> owner) : owner_(std::move(owner)) {}
  grpc::ServerBidiReactor<wire::AgentMessage, wire::MasterMessage>* Connect(
      grpc::CallbackServerContext* context) override {
    const auto connection = std::make_shared<AgentConnection>(owner_);
    connection->Start(*context);
    return connection.get();
  }

 private:
  const std::shared_ptr<Owner> owner_;
};

TEST(AgentConnectionTest, EndsBeforeAuthorization) {
  const auto owner = std::make_shared<Owner>();
  Hub hub(owner);
  grpc::ServerBuilder builder;
  builder.RegisterService(&hub);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto stub = wire::AgentHub::NewStub(server->InProcessChannel({}));
  grpc::ClientContext context;
  const auto stream = stub->Connect(&context);
  absl::AnyInvocable<void(absl::Status)> authorize = owner->authorization.get_future().get();
  context.TryCancel();
  owner->disconnected.get_future().wait();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  server->Shutdown();
  authorize(absl::OkStatus());  // has no effect
}

}  // namespace
}  // namespace det::agents
