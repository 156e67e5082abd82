// The queue, agents, pools and quotas, called at the services.
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "det/api/v1/agent.grpc.pb.h"
#include "det/api/v1/auth.grpc.pb.h"
#include "det/api/v1/job.grpc.pb.h"
#include "det/api/v1/resource_pool.grpc.pb.h"
#include "gtest/gtest.h"
#include "master/tests/testing/integration_fixture.h"

namespace det::tests {
namespace {

class QueueTest : public MasterIntegrationTest {
 protected:
  // Calls as the administrator, whose token is "user".
  template <class Stub, class Request, class Response>
  grpc::Status Call(Stub& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response, const char* token = "user") {
    CallContext context(token);
    return (stub.*method)(&context, request, response);
  }
  std::vector<api::Job> Jobs(const std::string& pool = "") {
    api::GetJobsRequest request;
    request.set_resource_pool(pool);
    api::GetJobsResponse response;
    const grpc::Status status = Call(*jobs_, &api::JobService::Stub::GetJobs, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.pagination().total(), response.jobs_size());
    return {response.jobs().begin(), response.jobs().end()};
  }
  grpc::Status Update(const std::string& job, const std::function<void(api::QueueControl*)>& set) {
    api::UpdateJobQueueRequest request;
    api::QueueControl* control = request.add_updates();
    control->set_job_id(job);
    set(control);
    api::UpdateJobQueueResponse response;
    return Call(*jobs_, &api::JobService::Stub::UpdateJobQueue, request, &response);
  }
  grpc::Status Explain(const std::string& job, api::ExplainJobResponse* response) {
    api::ExplainJobRequest request;
    request.set_job_id(job);
    return Call(*jobs_, &api::JobService::Stub::ExplainJob, request, response);
  }
  grpc::Status Put(const api::PutResourcePoolRequest& request, api::ResourcePool* pool) {
    api::PutResourcePoolResponse response;
    const grpc::Status status =
        Call(*pools_, &api::ResourcePoolService::Stub::PutResourcePool, request, &response);
    *pool = response.resource_pool();
    return status;
  }
  std::map<std::string, api::ResourcePool> Pools() {
    api::GetResourcePoolsResponse response;
    EXPECT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::GetResourcePools,
                     api::GetResourcePoolsRequest(), &response)
                    .ok());
    std::map<std::string, api::ResourcePool> pools;
    for (const auto& pool : response.resource_pools()) pools[pool.name()] = pool;
    return pools;
  }
  api::Agent Agent(const std::string& id) {
    api::GetAgentRequest request;
    request.set_agent_id(id);
    api::GetAgentResponse response;
    EXPECT_TRUE(Call(*agents_, &api::AgentService::Stub::GetAgent, request, &response).ok());
    return response.agent();
  }

  std::unique_ptr<api::JobService::Stub> jobs_ = api::JobService::NewStub(master_.channel());
  std::unique_ptr<api::AgentService::Stub> agents_ = api::AgentService::NewStub(master_.channel());
  std::unique_ptr<api::ResourcePoolService::Stub> pools_ =
      api::ResourcePoolService::NewStub(master_.channel());
};

TEST_F(QueueTest, ListsJobsInQueueOrder) {
  FakeAgent agent(master_, "a1", 1);
  int running = 0;
  const std::string allocation = Run(agent, &running);
  const int second = Create(), third = Create();
  std::vector<api::Job> jobs = Jobs();
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].entity_id(), std::to_string(running));
  EXPECT_EQ(jobs[0].summary().state(), api::JobSummary::STATE_SCHEDULED);
  EXPECT_EQ(jobs[0].allocated_slots(), 1);
  EXPECT_EQ(jobs[0].username(), "admin");
  EXPECT_EQ(jobs[1].summary().state(), api::JobSummary::STATE_QUEUED);
  EXPECT_EQ(jobs[2].summary().jobs_ahead(), 2);
  EXPECT_EQ(jobs[2].entity_id(), std::to_string(third));

  ASSERT_TRUE(Update(std::to_string(third), [](auto* c) { c->set_priority(3); }).ok());
  EXPECT_EQ(Jobs()[0].entity_id(), std::to_string(third));
  EXPECT_EQ(Jobs()[0].priority(), 3);
  ASSERT_TRUE(Update(jobs[1].job_id(), [&](auto* c) { c->set_ahead_of(jobs[0].job_id()); }).ok());
  EXPECT_EQ(Jobs()[1].entity_id(), std::to_string(second));

  EXPECT_EQ(Update("99", [](auto* c) { c->set_priority(3); }).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Update("1", [](auto* c) { c->set_priority(100); }).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Update("1", [](auto*) {}).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Update("1", [](auto* c) { c->set_weight(2); }).ok())
      << "kept for a pool with fair share";
}

TEST_F(QueueTest, ListsAWindowOfTheQueueByState) {
  for (int i = 0; i < 3; ++i) Create();
  api::GetJobsRequest request;
  request.set_offset(1);
  request.set_limit(1);
  api::GetJobsV2Response response;
  ASSERT_TRUE(Call(*jobs_, &api::JobService::Stub::GetJobsV2, request, &response).ok());
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).full().entity_id(), "2");
  EXPECT_EQ(response.pagination().total(), 3);
  EXPECT_EQ(response.pagination().end_index(), 2);
  request.Clear();
  request.add_states(api::JobSummary::STATE_SCHEDULED);
  ASSERT_TRUE(Call(*jobs_, &api::JobService::Stub::GetJobsV2, request, &response).ok());
  EXPECT_EQ(response.jobs_size(), 0);
  request.Clear();
  request.set_resource_pool("nowhere");
  const grpc::Status status = Call(*jobs_, &api::JobService::Stub::GetJobsV2, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(status.error_message().find("there are: default"), std::string::npos)
      << status.error_message();
}

TEST_F(QueueTest, ExplanationNamesTheBlockingAllocation) {
  FakeAgent agent(master_, "a1", 1);
  const std::string allocation = Run(agent);
  const int waiting = Create();
  api::ExplainJobResponse explanation;
  ASSERT_TRUE(Explain(std::to_string(waiting), &explanation).ok());
  EXPECT_EQ(explanation.job().entity_id(), std::to_string(waiting));
  ASSERT_EQ(explanation.waiting_size(), 1);
  EXPECT_EQ(explanation.waiting(0).kind(), "NO_CAPACITY");
  ASSERT_EQ(explanation.waiting(0).waits_for_size(), 1);
  EXPECT_EQ(explanation.waiting(0).waits_for(0), allocation);
  EXPECT_FALSE(explanation.waiting(0).has_estimated_start());
  EXPECT_NE(explanation.waiting(0).estimate_basis(), "");

  ASSERT_TRUE(Kill(waiting).ok());
  EXPECT_EQ(Await(waiting).state(), api::Experiment::STATE_CANCELED);
  EXPECT_EQ(Explain(std::to_string(waiting), &explanation).error_code(),
            grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(Explain("exp-99", &explanation).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Explain("", &explanation).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(QueueTest, ShowsDisabledAgentsAndSlots) {
  FakeAgent agent(master_, "a1", 2);
  ASSERT_TRUE(agent.Next().has_registered());
  api::DisableSlotRequest slot;
  slot.set_agent_id("a1");
  slot.set_slot_id("1");
  api::DisableSlotResponse disabled;
  ASSERT_TRUE(Call(*agents_, &api::AgentService::Stub::DisableSlot, slot, &disabled).ok());
  EXPECT_FALSE(disabled.slot().enabled());
  api::Agent shown = Agent("a1");
  EXPECT_TRUE(shown.enabled());
  EXPECT_TRUE(shown.slots().at("0").enabled());
  EXPECT_FALSE(shown.slots().at("1").enabled());
  EXPECT_NE(shown.slots().at("1").reason(), "");
  EXPECT_EQ(shown.slot_stats().type_stats().begin()->second.disabled(), 1);
  EXPECT_EQ(Pools()["default"].slots_available(), 1);

  api::DisableAgentRequest drain;
  drain.set_agent_id("a1");
  drain.set_drain(true);
  api::DisableAgentResponse drained;
  ASSERT_TRUE(Call(*agents_, &api::AgentService::Stub::DisableAgent, drain, &drained).ok());
  EXPECT_TRUE(drained.agent().draining());
  EXPECT_FALSE(drained.agent().enabled());
  EXPECT_TRUE(drained.agent().slots().at("0").draining());
  EXPECT_FALSE(drained.agent().slots().at("0").enabled());

  drain.set_agent_id("a9");
  EXPECT_EQ(Call(*agents_, &api::AgentService::Stub::DisableAgent, drain, &drained).error_code(),
            grpc::StatusCode::NOT_FOUND);
  slot.set_slot_id("seven");
  EXPECT_EQ(Call(*agents_, &api::AgentService::Stub::DisableSlot, slot, &disabled).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(QueueTest, KeepsPoolFieldsThatARequestOmits) {
  api::PutResourcePoolRequest request;
  request.set_name("night");
  request.set_policy("fair_share");
  request.set_hold_after_seconds(90);
  request.set_maintenance_lead_seconds(600);
  api::ResourcePool pool;
  ASSERT_TRUE(Put(request, &pool).ok());
  EXPECT_EQ(pool.scheduler_type(), api::ResourcePool::SCHEDULER_TYPE_FAIR_SHARE);
  EXPECT_EQ(pool.source(), "runtime");
  EXPECT_TRUE(pool.has_details());
  request.Clear();
  request.set_name("night");
  request.set_preemption(true);
  ASSERT_TRUE(Put(request, &pool).ok());
  EXPECT_EQ(pool.scheduler_type(), api::ResourcePool::SCHEDULER_TYPE_FAIR_SHARE);
  EXPECT_EQ(pool.hold_after_seconds(), 90);
  EXPECT_EQ(pool.maintenance_lead_seconds(), 600);
  EXPECT_TRUE(pool.preemption());
  request.set_policy("fifo");
  ASSERT_TRUE(Put(request, &pool).ok());
  EXPECT_EQ(pool.scheduler_type(), api::ResourcePool::SCHEDULER_TYPE_UNSPECIFIED)
      << "existing clients know no such type";
  EXPECT_EQ(pool.policy(), "fifo");
  request.set_policy("lottery");
  const grpc::Status status = Put(request, &pool);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "policy: expected priority, fair_share or fifo, found \"lottery\"");
  request.clear_policy();
  request.set_hold_after_seconds(-1);
  EXPECT_EQ(Put(request, &pool).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  request.clear_hold_after_seconds();
  request.set_maintenance_lead_seconds(1e12);
  EXPECT_EQ(Put(request, &pool).error_message(),
            "maintenance_lead_seconds: expected a number from 0 to 1e9, found 1e+12");

  api::BindRPToWorkspaceRequest bind;
  bind.set_resource_pool_name("night");
  bind.add_workspace_names("lab");
  api::BindRPToWorkspaceResponse bound;
  ASSERT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::BindRPToWorkspace, bind, &bound).ok());
  ASSERT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::BindRPToWorkspace, bind, &bound).ok());
  ASSERT_EQ(Pools()["night"].workspaces_size(), 1);
  bind.set_resource_pool_name("day");
  EXPECT_EQ(
      Call(*pools_, &api::ResourcePoolService::Stub::BindRPToWorkspace, bind, &bound).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

TEST_F(QueueTest, QuotaShowsItsUsage) {
  FakeAgent agent(master_, "a1", 1);
  const std::string allocation = Run(agent);
  api::PutQuotaRequest request;
  request.mutable_quota()->set_scope("user");
  request.mutable_quota()->set_name("admin");
  request.mutable_quota()->set_max_slots(1);
  api::PutQuotaResponse response;
  ASSERT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::PutQuota, request, &response).ok());
  EXPECT_EQ(response.quota().slots_used(), 1);
  request.mutable_quota()->set_scope("planet");
  EXPECT_EQ(
      Call(*pools_, &api::ResourcePoolService::Stub::PutQuota, request, &response).error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(QueueTest, SlowDatabaseDoesNotBlockOtherCalls) {
  std::promise<void> hangs, back;
  master_.commits().DuringCommit([&hangs, until = back.get_future().share()] {
    hangs.set_value();
    until.wait();
  });
  // More calls than there are threads for authorization.
  constexpr int kCalls = 12;
  std::vector<std::unique_ptr<CallContext>> contexts;
  std::vector<api::PutQuotaResponse> responses(kCalls);
  std::vector<std::promise<grpc::Status>> ends(kCalls);
  api::PutQuotaRequest request;
  request.mutable_quota()->set_scope("user");
  request.mutable_quota()->set_name("admin");
  for (int i = 0; i < kCalls; ++i) {
    request.mutable_quota()->set_max_slots(i);
    contexts.push_back(std::make_unique<CallContext>("user"));
    pools_->async()->PutQuota(
        contexts.back().get(), &request, &responses[i],
        [&end = ends[i]](grpc::Status status) { end.set_value(std::move(status)); });
    if (i == 0) hangs.get_future().wait();
  }
  const auto auth = api::AuthService::NewStub(master_.channel());
  for (int i = 0; i < kCalls; ++i) {
    CallContext context("user");
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    api::GetMeResponse me;
    const grpc::Status status = auth->GetMe(&context, {}, &me);
    EXPECT_TRUE(status.ok()) << status.error_message();
    if (!status.ok()) break;
  }
  back.set_value();
  for (std::promise<grpc::Status>& end : ends) {
    const grpc::Status status = end.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_F(QueueTest, KeepsConcurrentBindings) {
  api::PutResourcePoolRequest put;
  put.set_name("night");
  api::ResourcePool pool;
  ASSERT_TRUE(Put(put, &pool).ok());
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([this, client] {
      for (int i = 0; i < 5; ++i) {
        api::BindRPToWorkspaceRequest bind;
        bind.set_resource_pool_name("night");
        bind.add_workspace_names(absl::StrCat(client, ".", i));
        api::BindRPToWorkspaceResponse bound;
        const grpc::Status status =
            Call(*pools_, &api::ResourcePoolService::Stub::BindRPToWorkspace, bind, &bound);
        EXPECT_TRUE(status.ok()) << status.error_message();
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(Pools()["night"].workspaces_size(), 20);
}

TEST_F(QueueTest, ReturnsASnapshotOfOnePoolOrAll) {
  FakeAgent agent(master_, "a1", 1);
  Run(agent);
  api::GetSchedulerSnapshotRequest request;
  api::GetSchedulerSnapshotResponse response;
  ASSERT_TRUE(Call(*jobs_, &api::JobService::Stub::GetSchedulerSnapshot, request, &response).ok());
  EXPECT_EQ(response.snapshot().fields().at("agents").list_value().values_size(), 1);
  EXPECT_EQ(response.snapshot().fields().at("gangs").list_value().values_size(), 1);
  request.set_resource_pool("nowhere");
  EXPECT_EQ(
      Call(*jobs_, &api::JobService::Stub::GetSchedulerSnapshot, request, &response).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

TEST_F(QueueTest, OnlyAdministratorsChangeAgentsAndPools) {
  const auto user = master_.store().users().AddUser({.username = "ann"}, model::Role::kViewer);
  ASSERT_TRUE(user.ok());
  master_.AddSession("ann", store::SessionRecord::Kind::kUser, user->id);
  api::PutResourcePoolRequest request;
  request.set_name("mine");
  api::PutResourcePoolResponse response;
  const grpc::Status refused =
      Call(*pools_, &api::ResourcePoolService::Stub::PutResourcePool, request, &response, "ann");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("needs the role ClusterAdmin"), std::string::npos);
  api::GetResourcePoolsResponse pools;
  EXPECT_TRUE(Call(*pools_, &api::ResourcePoolService::Stub::GetResourcePools,
                   api::GetResourcePoolsRequest(), &pools, "ann")
                  .ok());
}

}  // namespace
}  // namespace det::tests
