// The components of a master on a store in memory, assembled as in master.cc, without a database
// and a port. Used by tests on their thread. It has the threads of a real master.
#ifndef MASTER_TESTS_TESTING_TEST_MASTER_H_
#define MASTER_TESTS_TESTING_TEST_MASTER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/event_loop.h"
#include "base/thread_pool.h"
#include "master/agents/agent_hub.h"
#include "master/api/audit/audit_trail.h"
#include "master/api/authz/authorizer.h"
#include "master/api/idempotency/idempotency_store.h"
#include "master/api/services.h"
#include "master/gc/gc_thread.h"
#include "master/proxy/activity.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/faulty_store.h"
#include "master/webhooks/deliverer.h"
#include "master/webhooks/trigger_watch.h"
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

namespace google::protobuf {
class MethodDescriptor;
}  // namespace google::protobuf

namespace det::tests {

// It has the user "admin" with the password "pw", and the tokens "user" and "agent". Webhooks are
// signed with "key" and may have any address.
class TestMaster {
 public:
  explicit TestMaster(std::shared_ptr<store::FakeDatabase> database,
                      absl::Duration reconnect_timeout = absl::Hours(1),
                      agents::Topology topology = {},
                      auth::AuthzType authz = auth::AuthzType::kRbac);
  ~TestMaster();

  // Adds a session of `user`; the default is "admin".
  void AddSession(const std::string& token, store::SessionRecord::Kind kind,
                  std::optional<model::UserId> user = std::nullopt);
  std::shared_ptr<grpc::Channel> channel() { return channel_; }
  grpc::Server* server() { return server_.get(); }
  store::FakeStore& store() { return store_; }
  api::Authorizer& authorizer() { return authorizer_; }
  agents::AgentHub& hub() { return *hub_; }
  api::AuditTrail& audit() { return audit_; }
  api::ServiceParts& parts() { return parts_; }
  // Set it before the first call.
  std::function<void(absl::StatusCode)>& on_call() { return on_call_; }
  proxy::Activity& task_activity() { return task_activity_; }
  // The store through which the engine commits.
  store::FaultyStore& commits() { return commits_; }
  // The full names of all services, including the agent hub.
  std::vector<std::string> services() const;
  std::string MakeTaskToken(const std::string& allocation) {
    return authenticator_.allocation_tokens().Make(model::AllocationId(allocation));
  }

 private:
  void StartServer();

  store::FakeStore store_;
  store::FaultyStore commits_{&store_};
  base::RealClock clock_;
  auth::Authenticator authenticator_;
  std::unique_ptr<api::WorkspaceResolver> workspace_resolver_ = api::MakeWorkspaceResolver(&store_);
  api::Authorizer authorizer_{&authenticator_, workspace_resolver_.get(), &clock_, {}};
  api::AuditTrail audit_{&store_.audit(), nullptr};
  api::IdempotencyStore answers_{&store_.stored_responses(), &clock_};
  std::unique_ptr<base::EventLoop> loop_ = base::MakeAsioEventLoop("cluster");
  std::unique_ptr<base::ThreadPool> pool_ = std::make_unique<base::ThreadPool>(4);
  auth::PasswordQueue passwords_{loop_.get()};
  model::UserId user_;
  api::ServiceParts parts_;
  std::function<void(absl::StatusCode)> on_call_;
  std::unique_ptr<api::CallPipeline> calls_;
  live::ExperimentWatch watch_;
  api::AllGather gather_;
  live::LifeSigns life_signs_;
  proxy::Activity task_activity_{&clock_};
  live::AllocationWatch allocations_{[this](const model::AllocationId& id) { gather_.Close(id); }};
  std::unique_ptr<agents::AgentHub> hub_;
  gc::GcThread gc_;
  webhooks::Deliverer deliverer_;
  webhooks::TriggerWatch triggers_{&store_, &clock_, [this] { deliverer_.Wake(); }};
  std::unique_ptr<engine::Engine> engine_;
  std::vector<std::unique_ptr<api::Service>> services_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// A client context with the token of the caller.
struct CallContext : grpc::ClientContext {
  explicit CallContext(const std::string& token) {
    if (!token.empty()) AddMetadata("authorization", "Bearer " + token);
  }
};

struct MethodResponse {
  grpc::Status status;
  std::string bytes;  // the serialized response, if the status is OK
};
// Calls a unary method that only its descriptor names. `request`: the serialized message.
MethodResponse CallMethod(const std::shared_ptr<grpc::Channel>& channel,
                          const google::protobuf::MethodDescriptor& method, CallContext& context,
                          const std::string& request);

}  // namespace det::tests

#endif  // MASTER_TESTS_TESTING_TEST_MASTER_H_
