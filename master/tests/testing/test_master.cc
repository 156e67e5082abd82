#include "master/tests/testing/test_master.h"

#include <chrono>
#include <utility>

#include "gtest/gtest.h"
#include "master/auth/passwords.h"
#include "master/auth/tokens.h"

namespace det::tests {

World::World(std::shared_ptr<store::FakeDatabase> database, absl::Duration patience,
             agents::Topology topology)
    : store_(std::move(database)) {
  if (!store_.people().GetUserByName("admin").ok()) {
    EXPECT_TRUE(store_.people()
                    .AddUser({.username = "admin",
                              .password_hash = *auth::HashPassword(auth::ClientHash("pw")),
                              .admin = true})
                    .ok());
  }
  user_ = store_.people().GetUserByName("admin")->id;
  Session("user", store::SessionRecord::Kind::kUser);
  Session("agent", store::SessionRecord::Kind::kAgent);
  hub_ = std::make_unique<agents::AgentHub>(
      agents::HubOptions{.cluster_id = "c",
                         .version = "1.2.0",
                         .patience = patience,
                         .topology = std::move(topology)},
      agents::HubDeps{
          .store = &store_,
          .authenticator = &authenticator_,
          .pool = pool_.get(),
          .loop = loop_.get(),
          .logs_arrived = [this](const model::TaskId& task) { watch_.LogsArrived(task); },
          .look_at_logs = [this](const auto& lines) { return triggers_.Look(lines); }});
  watch_.SetLoop(loop_.get());
  engine_ =
      std::make_unique<engine::Engine>(cluster::Settings{.cluster_id = "c"}, &commits_, loop_.get(),
                                       engine::Sinks{.agents = hub_.get(),
                                                     .trials = &allocations_,
                                                     .experiments = &watch_,
                                                     .sweep = &sweep_,
                                                     .webhooks = &deliverer_},
                                       [](const absl::Status& status) { FAIL() << status; });
  hub_->SetEngine(engine_.get());
  edge_.engine = engine_.get();
  edge_.store = &store_;
  edge_.authenticator = &authenticator_;
  edge_.admission = &admission_;
  edge_.audit = &audit_;
  edge_.answers = &answers_;
  edge_.passwords = &passwords_;
  edge_.pool = pool_.get();
  edge_.loop = loop_.get();
  edge_.clock = &clock_;
  edge_.watch = &watch_;
  edge_.webhooks = &triggers_;
  edge_.deliverer = &deliverer_;
  edge_.checkpoint_places.own = "/nowhere";
  EXPECT_TRUE(engine_->Start().ok());
  sweep_.Start(&store_, engine_.get());
  webhooks::DelivererOptions options;
  options.signing_key.append("key");
  options.addresses.allow_private = true;
  deliverer_.Start(std::move(options), &store_.webhooks(), &clock_, [] { return true; });
  StartServer();
  hub_->ExpectAgents();
}

World::~World() {
  hub_->Stop();
  server_->Shutdown(std::chrono::system_clock::now());
  deliverer_.Stop();
  sweep_.Stop();
  engine_->Stop();
  pool_->Stop();
  passwords_.Stop();
  audit_.Stop();
  loop_->Stop();
}

void World::StartServer() {
  services_ = api::MakeServices(edge_, allocations_, gather_);
  grpc::ServerBuilder builder;
  for (const auto& one : services_) builder.RegisterService(one->registered());
  builder.RegisterService(hub_->service());
  server_ = builder.BuildAndStart();
  channel_ = server_->InProcessChannel({});
}

std::vector<std::string> World::services() const {
  std::vector<std::string> names = {"det.agent.v1.AgentHub"};
  for (const auto& each : services_) names.push_back(each->name());
  return names;
}

void World::Session(const std::string& token, store::SessionRecord::Kind kind,
                    std::optional<model::UserId> user) {
  EXPECT_TRUE(
      store_.access()
          .PutSession(
              {.token_hash = auth::HashToken(token), .kind = kind, .user = user.value_or(user_)})
          .ok());
}

}  // namespace det::tests
