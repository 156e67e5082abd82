// Audit records, stored responses, the cluster message and usage: a part of the contract suite in
// store_contract.h.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

AuditRecord Changed(double seconds, const std::string& method, int user) {
  AuditRecord record;
  record.at = TimeAt(seconds);
  if (user != 0) record.user.emplace(user);
  record.caller = user == 0 ? std::string("agent") : absl::StrCat("user-", user);
  record.access_token = user == 0 ? 0 : 40 + user;
  record.peer = "10.0.0.1 \"quoted\" \\ ü";
  record.method = "det.api.v1." + method;
  record.target = "experiment 7";
  record.request_id = "request";
  record.code = "PERMISSION_DENIED";
  return record;
}

std::vector<int64_t> Ids(const absl::StatusOr<std::vector<AuditRecord>>& records) {
  std::vector<int64_t> ids;
  for (const AuditRecord& record : *records) ids.push_back(record.id);
  return ids;
}

TEST_P(StoreContractTest, AddsAndFindsAuditRecords) {
  Audit& audit = store_->audit();
  EXPECT_THAT(*audit.ListAudit({}), IsEmpty());
  const std::vector<AuditRecord> records = {Changed(1.25, "UserService.PostUser", 1),
                                            Changed(2, "UserService.PatchUser", 2),
                                            Changed(3, "AgentService.DisableAgent", 0)};
  ASSERT_TRUE(audit.AddAudit({records[0], records[1]}).ok());
  ASSERT_TRUE(audit.AddAudit({records[2]}).ok());
  const auto all = backend_->Open()->audit().ListAudit({});
  EXPECT_THAT(Ids(all), ElementsAre(3, 2, 1));
  AuditRecord first = records[0];
  first.id = 1;
  EXPECT_EQ(all->back(), first);
  EXPECT_FALSE(all->front().user.has_value());

  EXPECT_THAT(Ids(audit.ListAudit({.user = model::UserId(2)})), ElementsAre(2));
  EXPECT_THAT(Ids(audit.ListAudit({.method = "det.api.v1.UserService.P"})), ElementsAre(2, 1));
  EXPECT_THAT(Ids(audit.ListAudit({.method = "det.api.v1.UserService.%"})), IsEmpty());
  EXPECT_THAT(Ids(audit.ListAudit({.since = TimeAt(2)})), ElementsAre(3, 2));
  EXPECT_THAT(Ids(audit.ListAudit({.until = TimeAt(2)})), ElementsAre(1));
  EXPECT_THAT(Ids(audit.ListAudit({.limit = 2})), ElementsAre(3, 2));
  EXPECT_THAT(Ids(audit.ListAudit({.before_id = 2, .limit = 2})), ElementsAre(1));
  EXPECT_THAT(Ids(audit.ListAudit({.limit = 1, .offset = 1})), ElementsAre(2));
  EXPECT_THAT(Ids(audit.ListAudit({.until = TimeAt(2), .offset = 1})), IsEmpty());
  EXPECT_EQ(*audit.CountAudit({.limit = 1, .offset = 1}), 3);
  EXPECT_EQ(*audit.CountAudit({.user = model::UserId(2)}), 1);
  EXPECT_EQ(*audit.CountAudit({.before_id = 3}), 2);
}

TEST_P(StoreContractTest, RejectsAuditOfOlderMaster) {
  ASSERT_TRUE(store_->Load().ok());
  ASSERT_TRUE(backend_->Open()->Load().ok());
  EXPECT_TRUE(absl::IsUnavailable(store_->audit().AddAudit({Changed(1, "X.Y", 1)})));
  EXPECT_THAT(*store_->audit().ListAudit({}), IsEmpty());
}

TEST_P(StoreContractTest, StoresResponsePerUserAndKeyUntilExpiry) {
  StoredResponses& responses = store_->stored_responses();
  StoredResponse stored;
  stored.user = model::UserId(1);
  stored.key = "a key \"quoted\"";
  stored.method = "det.api.v1.UserService.PostUser";
  stored.request = "hash";
  stored.at = TimeAt(100);
  stored.code = 6;
  stored.message = "taken";
  stored.response = std::string("\0\x01\xff\\x", 5);
  ASSERT_TRUE(responses.PutResponse(stored, TimeAt(0)).ok());
  EXPECT_EQ(*backend_->Open()->stored_responses().GetResponse(stored.user, stored.key, TimeAt(100)),
            stored);
  EXPECT_FALSE(responses.GetResponse(stored.user, stored.key, TimeAt(101))->has_value());
  EXPECT_FALSE(responses.GetResponse(model::UserId(2), stored.key, TimeAt(0))->has_value());
  EXPECT_FALSE(responses.GetResponse(stored.user, "other", TimeAt(0))->has_value());

  StoredResponse later = stored;
  later.at = TimeAt(200);
  later.response.clear();
  ASSERT_TRUE(responses.PutResponse(later, TimeAt(0)).ok());
  EXPECT_EQ(*responses.GetResponse(stored.user, stored.key, TimeAt(0)), later);
  StoredResponse other = later;
  other.key = "other";
  other.at = TimeAt(400);
  ASSERT_TRUE(responses.PutResponse(other, TimeAt(300)).ok());
  EXPECT_FALSE(responses.GetResponse(stored.user, stored.key, TimeAt(0))->has_value());
  EXPECT_EQ(*responses.GetResponse(other.user, other.key, TimeAt(0)), other);
}

TEST_P(StoreContractTest, StoresClusterMessage) {
  ClusterMessage& message = store_->cluster_message();
  EXPECT_FALSE(message.GetMessage()->has_value());
  MessageRecord record;
  record.text = "down at noon";
  record.starts_at = TimeAt(1);
  record.created_at = TimeAt(0.5);
  ASSERT_TRUE(message.SetMessage(record).ok());
  EXPECT_EQ(*backend_->Open()->cluster_message().GetMessage(), record);
  record.text = "down at one";
  record.ends_at = TimeAt(2);
  ASSERT_TRUE(message.SetMessage(record).ok());
  EXPECT_EQ(*message.GetMessage(), record);
  EXPECT_TRUE(message.ClearMessage().ok());
  EXPECT_TRUE(message.ClearMessage().ok());
  EXPECT_FALSE(message.GetMessage()->has_value());
}

// An allocation that held two slots from `start`, until `end` unless that is 0.
experiment::Allocation Ran(const experiment::Trial& trial, int run, double start, double end) {
  experiment::Allocation a = MakeAllocation(trial, run);
  a.granted = 2;
  a.fraction = 0.5;
  a.resource_pool = "gpu";
  a.started_at = TimeAt(start);
  if (end != 0) {
    a.ended_at = TimeAt(end);
    a.state = model::AllocationState::kTerminated;
  }
  return a;
}

TEST_P(StoreContractTest, ListsUsageWithinTime) {
  auto config = *MakeConfig("one");
  config.labels = {"a", "b"};
  experiment::Experiment e = MakeExperiment(1);
  e.config = std::make_shared<const model::ExperimentConfig>(config);
  e.owner_name = "ann";
  const experiment::Trial trial = MakeTrial(1, 1);
  experiment::Allocation queued = MakeAllocation(trial, 3);
  Commit({cluster::PutExperiment{e}, cluster::PutTrial{trial},
          cluster::PutAllocation{Ran(trial, 0, 10, 20)},
          cluster::PutAllocation{Ran(trial, 1, 30, 40)}, cluster::PutAllocation{queued},
          cluster::PutAllocation{Ran(trial, 2, 50, 0)}});
  const auto used = [&](double from, double until) {
    std::vector<absl::Time> starts;
    const auto records = store_->usage().ListUsage(TimeAt(from), TimeAt(until));
    for (const UsageRecord& record : *records) starts.push_back(record.started_at);
    return starts;
  };
  EXPECT_THAT(used(0, 10), IsEmpty());
  EXPECT_THAT(used(0, 11), ElementsAre(TimeAt(10)));
  EXPECT_THAT(used(19, 31), ElementsAre(TimeAt(10), TimeAt(30)));
  EXPECT_THAT(used(40, 100), ElementsAre(TimeAt(50)));
  const auto all = store_->usage().ListUsage(TimeAt(0), TimeAt(100));
  ASSERT_EQ(all->size(), 3u);
  UsageRecord first;
  first.experiment = e.id;
  first.user = e.owner;
  first.username = "ann";
  first.workspace_id = kUncategorized;
  first.workspace = "Uncategorized";
  first.labels = {"a", "b"};
  first.resource_pool = "gpu";
  first.allocation = MakeAllocation(trial, 0).id;
  first.slots = 1;
  first.started_at = TimeAt(10);
  first.ended_at = TimeAt(20);
  EXPECT_EQ(all->front(), first);
  EXPECT_FALSE(all->back().ended_at.has_value());
}

TEST_P(StoreContractTest, KeepsWorkspaceAndPoolOfUsage_WhenExperimentMovesAndIsDeleted) {
  experiment::Experiment e = MakeExperiment(1);
  e.state = model::ExperimentState::kCompleted;
  const experiment::Trial trial = MakeTrial(1, 1);
  Commit({cluster::PutExperiment{e}, cluster::PutTrial{trial},
          cluster::PutAllocation{Ran(trial, 0, 10, 20)}});
  WorkspaceRecord workspace;
  workspace.name = "vision";
  const int32_t vision = store_->workspaces().AddWorkspace(workspace)->id;
  ProjectRecord project;
  project.name = "cats";
  project.workspace = vision;
  const int32_t cats = store_->projects().AddProject(project)->id;
  Commit({cluster::SetProject{e.id, {vision, cats, "vision", "cats"}}});
  Commit({cluster::PutAllocation{Ran(trial, 0, 10, 25)},
          cluster::PutAllocation{Ran(trial, 1, 30, 40)}});
  const auto used = [&] {
    std::vector<std::string> texts;
    const auto records = store_->usage().ListUsage(TimeAt(0), TimeAt(100));
    for (const UsageRecord& each : *records) {
      texts.push_back(absl::StrCat(each.experiment.value(), " ", each.allocation.value(), " ",
                                   each.workspace, " ", each.resource_pool));
    }
    return texts;
  };
  EXPECT_THAT(used(), ElementsAre("1 1.1.0 Uncategorized gpu", "1 1.1.1 vision gpu"));
  Commit({cluster::MarkDeleting{e.id}});
  while (!*store_->garbage_collection().RemoveRows(e.id, 100)) {
  }
  EXPECT_THAT(used(), ElementsAre("1 1.1.0 Uncategorized gpu", "1 1.1.1 vision gpu"));
}

TEST_P(StoreContractTest, ListsCapacityWithinTime) {
  const model::AgentId one("one"), two("two");
  const auto offers = [](const model::AgentId& agent, const char* pool, int slots, double at) {
    return cluster::AddCapacity{agent, pool, slots, TimeAt(at)};
  };
  Commit({offers(one, "gpu", 8, 10), offers(two, "gpu", 4, 20)});
  Commit({offers(one, "gpu", 0, 30), offers(two, "cpu", 2, 40), offers(one, "gpu", 6, 50)});
  const auto offered = [&](double from, double until) {
    std::vector<std::string> texts;
    const auto records = store_->usage().ListCapacity(TimeAt(from), TimeAt(until));
    for (const CapacityRecord& record : *records) {
      texts.push_back(absl::StrCat(record.agent.value(), " ", record.slots, " ",
                                   record.resource_pool, record.ended_at ? "" : " still"));
    }
    return texts;
  };
  EXPECT_THAT(offered(0, 10), IsEmpty());
  EXPECT_THAT(offered(0, 11), ElementsAre("one 8 gpu still"));
  EXPECT_THAT(offered(29, 45), ElementsAre("one 8 gpu", "two 4 gpu", "two 2 cpu still"));
  EXPECT_THAT(offered(30, 45), ElementsAre("two 4 gpu", "two 2 cpu still"));
  EXPECT_THAT(offered(60, 70), ElementsAre("two 2 cpu still", "one 6 gpu still"));
  const auto all = store_->usage().ListCapacity(TimeAt(0), TimeAt(100));
  ASSERT_EQ(all->size(), 4u);
  EXPECT_EQ(all->front(), (CapacityRecord{one, "gpu", 8, TimeAt(10), TimeAt(30)}));
}

}  // namespace
}  // namespace det::store
