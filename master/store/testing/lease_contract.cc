// The lease, and the rejection of writes of a fenced master: a part of the contract suite in
// store_contract.h.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"

namespace det::store {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_P(StoreContractTest, HasNoLeaderInEmptyDatabase) {
  EXPECT_EQ(*store_->ReadLease(), LeaseRecord());
  EXPECT_TRUE(absl::IsFailedPrecondition(store_->RenewLease("http://a:1")));
}

TEST_P(StoreContractTest, HasNoRenewalsWithoutLease) {
  ASSERT_TRUE(store_->Load().ok());
  EXPECT_EQ(*store_->ReadLease(), (LeaseRecord{.epoch = 1, .renewals = {}, .leader = ""}));
}

TEST_P(StoreContractTest, ClaimsLoadsAndRenewsLease) {
  ASSERT_TRUE(*store_->ClaimLease(std::nullopt));
  EXPECT_EQ(*store_->ReadLease(), (LeaseRecord{.epoch = 1, .renewals = 1, .leader = ""}));
  ASSERT_TRUE(store_->Load().ok());
  ASSERT_TRUE(store_->RenewLease("http://a:1").ok());
  const auto standby = backend_->Open();
  EXPECT_EQ(*standby->ReadLease(),
            (LeaseRecord{.epoch = 2, .renewals = 2, .leader = "http://a:1"}));
  ASSERT_TRUE(store_->RenewLease("http://a:1").ok());
  EXPECT_EQ(standby->ReadLease()->renewals, 3);
}

TEST_P(StoreContractTest, LetsOneOfTwoClaimLease) {
  ASSERT_TRUE(*store_->ClaimLease(std::nullopt));
  ASSERT_TRUE(store_->Load().ok());
  ASSERT_TRUE(store_->RenewLease("http://a:1").ok());
  const auto one = backend_->Open();
  const auto other = backend_->Open();
  const int64_t seen = one->ReadLease()->epoch;
  EXPECT_TRUE(*one->ClaimLease(seen));
  EXPECT_FALSE(*other->ClaimLease(seen));
  EXPECT_EQ(other->ReadLease()->leader, "");
  EXPECT_TRUE(absl::IsAborted(store_->RenewLease("http://a:1")));
  EXPECT_TRUE(absl::IsAborted(store_->Commit(1, {})));
  EXPECT_EQ(one->ReadLease()->renewals, 3);
}

// Executes every write of a master other than commits.
std::vector<absl::Status> WriteAll(Store& store) {
  return {store.AddMetrics({MakeReport(1, "training", 10, 0.1)}),
          store.AddLogLines({MakeLine("1.1", 1, "late")}),
          store.PutContext("late", "tgz"),
          store.users().AddUser({.username = "late"}).status(),
          store.users().ChangeUser(model::UserId(1), {.display_name = "late"}, TimeAt(1)).status(),
          store.users().RecordLogin(model::UserId(1), TimeAt(1)),
          store.users().PutSettings(model::UserId(1), {{"late", "key", "value"}}),
          store.users().DropSettings(model::UserId(1)),
          store.access().PutSession({.token_hash = "late"}).status(),
          store.access().RecordUse("early", TimeAt(1)),
          store.access().DeleteSession("early"),
          store.access().DeleteLogins(model::UserId(1), ""),
          store.access().DeleteUserSessions(model::UserId(1)),
          store.access().AddRole({.user = model::UserId(1)}),
          store.access().RemoveRole({.user = model::UserId(1)}),
          store.templates().AddTemplate({"late", "{}"}),
          store.templates().PutTemplate({"early", "late"}, kUncategorized),
          store.templates().DeleteTemplate("early", kUncategorized),
          store.GetOrSetProperty("late", "late").status()};
}

TEST_P(StoreContractTest, WritesNothingWithOldEpoch) {
  std::vector<absl::Status> fenced;
  store_->OnFenced([&](absl::Status status) { fenced.push_back(std::move(status)); });
  ASSERT_TRUE(store_->Load().ok());
  ASSERT_TRUE(store_->users().AddUser({.username = "early"}).ok());
  ASSERT_TRUE(store_->access().PutSession({.token_hash = "early"}).ok());
  ASSERT_TRUE(store_->templates().AddTemplate({"early", "{}"}).ok());
  const auto newer = backend_->Open();
  ASSERT_TRUE(newer->Load().ok());
  EXPECT_THAT(fenced, IsEmpty());

  for (const absl::Status& status : WriteAll(*store_)) {
    // The caller can retry with the new leader.
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  ASSERT_THAT(fenced, SizeIs(1));
  EXPECT_TRUE(absl::IsAborted(fenced[0])) << fenced[0];

  EXPECT_THAT(*newer->ListMetrics({model::TrialId(1)}, ""), IsEmpty());
  EXPECT_THAT(*newer->ListLogs({.task = model::TaskId("1.1")}), IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(newer->GetContext("late").status()));
  EXPECT_TRUE(absl::IsNotFound(newer->users().GetUserByName("late").status()));
  EXPECT_TRUE(absl::IsNotFound(newer->access().GetSession("late", TimeAt(0)).status()));
  EXPECT_TRUE(newer->access().GetSession("early", TimeAt(0)).ok());
  EXPECT_EQ(*newer->templates().ListTemplates(), (std::vector<TemplateRecord>{{"early", "{}"}}));
  EXPECT_EQ(*newer->GetOrSetProperty("late", "new"), "new");
  for (const absl::Status& status : WriteAll(*newer)) {
    EXPECT_TRUE(status.ok() || absl::IsAlreadyExists(status)) << status;
  }
  // Reads are not fenced.
  EXPECT_TRUE(store_->ListExperiments({}).ok());
}

}  // namespace
}  // namespace det::store
