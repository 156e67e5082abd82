// A stream that ends at times that do not suit the master.
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

// Keeps what it is asked, for the test to answer.
class Owner final : public AgentConnectionOwner {
 public:
  void Authorize(std::string, absl::AnyInvocable<void(absl::Status)> done) override {
    asked.set_value(std::move(done));
  }
  void Register(const std::shared_ptr<AgentConnection>&, const wire::Register&) override {}
  void Submit(cluster::Event, absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)>) override {}
  void OnDisconnected(const AgentConnection*) override { gone.set_value(); }

  std::promise<absl::AnyInvocable<void(absl::Status)>> asked;
  std::promise<void> gone;
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
  absl::AnyInvocable<void(absl::Status)> admit = owner->asked.get_future().get();
  context.TryCancel();
  owner->gone.get_future().wait();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  server->Shutdown();
  admit(absl::OkStatus());  // and nothing comes of it
}

}  // namespace
}  // namespace det::agents
