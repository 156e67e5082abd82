#include "master/tests/testing/test_master.h"

#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "master/auth/passwords.h"
#include "master/auth/tokens.h"
#include "master/webhooks/address_rules.h"
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>

namespace det::tests {

TestMaster::TestMaster(std::shared_ptr<store::FakeDatabase> database,
                       absl::Duration reconnect_timeout, agents::Topology topology,
                       auth::AuthzType authz)
    : store_(std::move(database)),
      authenticator_(&store_, &clock_, auth::AllocationTokens("secret"), authz) {
  if (!store_.users().GetUserByName("admin").ok()) {
    EXPECT_TRUE(store_.users()
                    .AddUser({.username = "admin",
                              .password_hash = *auth::HashPassword(auth::ClientHash("pw")),
                              .admin = true})
                    .ok());
  }
  user_ = store_.users().GetUserByName("admin")->id;
  AddSession("user", store::SessionRecord::Kind::kUser);
  AddSession("agent", store::SessionRecord::Kind::kAgent);
  hub_ = std::make_unique<agents::AgentHub>(
      agents::HubOptions{.cluster_id = "c",
                         .version = "1.2.0",
                         .reconnect_timeout = reconnect_timeout,
                         .topology = std::move(topology)},
      agents::HubDeps{
          .store = &store_,
          .authenticator = &authenticator_,
          .pool = pool_.get(),
          .loop = loop_.get(),
          .on_logs_stored = [this](const model::TaskId& task) { watch_.LogsArrived(task); },
          .check_logs = [this](const auto& lines) { return triggers_.Check(lines); }});
  watch_.SetLoop(loop_.get());
  engine_ =
      std::make_unique<engine::Engine>(cluster::Settings{.cluster_id = "c"}, &commits_, loop_.get(),
                                       engine::Sinks{.agents = hub_.get(),
                                                     .trials = &allocations_,
                                                     .experiments = &watch_,
                                                     .gc = &gc_,
                                                     .webhooks = &deliverer_},
                                       [](const absl::Status& status) { FAIL() << status; });
  hub_->SetEngine(engine_.get());
  parts_.engine = engine_.get();
  parts_.store = &store_;
  parts_.authenticator = &authenticator_;
  parts_.authorizer = &authorizer_;
  parts_.passwords = &passwords_;
  parts_.pool = pool_.get();
  parts_.loop = loop_.get();
  parts_.clock = &clock_;
  parts_.watch = &watch_;
  parts_.triggers = &triggers_;
  parts_.deliverer = &deliverer_;
  parts_.defaults.checkpoint_locations.own = "/nowhere";
  EXPECT_TRUE(engine_->Start().ok());
  gc_.Start(&store_, engine_.get(), "c");
  webhooks::DelivererOptions options;
  options.signing_key.append("key");
  options.addresses.allowed = {*webhooks::ParseNetwork("127.0.0.0/8")};
  deliverer_.Start(std::move(options), &store_.webhooks(), &clock_, [] { return true; });
  StartServer();
  hub_->ExpectAgents();
}

TestMaster::~TestMaster() {
  hub_->Stop();
  server_->Shutdown(std::chrono::system_clock::now());
  deliverer_.Stop();
  gc_.Stop();
  engine_->Stop();
  pool_->Stop();
  passwords_.Stop();
  audit_.Stop();
  loop_->Stop();
}

void TestMaster::StartServer() {
  calls_ = std::make_unique<api::CallPipeline>(
      api::CallPipeline::Parts{.authorizer = &authorizer_,
                               .idempotency = &answers_,
                               .audit = &audit_,
                               .pool = pool_.get(),
                               .clock = &clock_,
                               .on_call = [this](absl::StatusCode code) {
                                 if (on_call_) on_call_(code);
                               }});
  parts_.calls = calls_.get();
  parts_.allocations = &allocations_;
  parts_.life_signs = &life_signs_;
  parts_.task_activity = &task_activity_;
  parts_.all_gather = &gather_;
  services_ = api::MakeServices(parts_);
  grpc::ServerBuilder builder;
  for (const auto& one : services_) builder.RegisterService(one->grpc_service());
  builder.RegisterService(hub_->service());
  server_ = builder.BuildAndStart();
  channel_ = server_->InProcessChannel({});
}

std::vector<std::string> TestMaster::services() const {
  std::vector<std::string> names = {"det.agent.v1.AgentHub"};
  for (const auto& each : services_) names.push_back(each->name());
  return names;
}

void TestMaster::AddSession(const std::string& token, store::SessionRecord::Kind kind,
                            std::optional<model::UserId> user) {
  EXPECT_TRUE(
      store_.access()
          .PutSession(
              {.token_hash = auth::HashToken(token), .kind = kind, .user = user.value_or(user_)})
          .ok());
}

MethodResponse CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                          const google::protobuf::MethodDescriptor& method, CallContext& context,
                          const std::string& request) {
  grpc::GenericStub stub(channel);
  const grpc::Slice slice(request);
  const grpc::ByteBuffer bytes(&slice, 1);
  grpc::CompletionQueue queue;
  const std::string path = "/" + method.service()->full_name() + "/" + method.name();
  const auto call = stub.PrepareUnaryCall(&context, path, bytes, &queue);
  call->StartCall();
  grpc::ByteBuffer buffer;
  MethodResponse response;
  call->Finish(&buffer, &response.status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!response.status.ok()) return response;
  std::vector<grpc::Slice> slices;
  response.status = buffer.Dump(&slices);
  for (const grpc::Slice& each : slices) {
    response.bytes.append(reinterpret_cast<const char*>(each.begin()), each.size());
  }
  return response;
}

}  // namespace det::tests
