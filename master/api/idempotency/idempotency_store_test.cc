#include "master/api/idempotency/idempotency_store.h"

#include "det/api/v1/token.pb.h"
#include "det/api/v1/user.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"

namespace det::api {
namespace {

using ::testing::HasSubstr;

class IdempotencyStoreTest : public testing::Test {
 protected:
  static IdempotencyStore::Request Make(const std::string& name, const std::string& key = "k",
                                int user = 1) {
    v1::PostWorkspaceRequest request;
    request.set_name(name);
    return {model::UserId(user), key, "m", IdempotencyStore::HashRequest(request)};
  }
  static v1::PostWorkspaceResponse Made(int id) {
    v1::PostWorkspaceResponse response;
    response.mutable_workspace()->set_id(id);
    return response;
  }

  store::FakeStore store_;
  base::FakeClock clock_;
  IdempotencyStore responses_{&store_.stored_responses(), &clock_};
  v1::PostWorkspaceResponse response_;
};

TEST_F(IdempotencyStoreTest, ReturnsTheStoredResponse_WhenARequestIsRepeated) {
  EXPECT_FALSE(responses_.Begin(Make("a"), &response_)->has_value());
  responses_.End(Make("a"), absl::OkStatus(), Made(7));
  EXPECT_EQ(responses_.Begin(Make("a"), &response_).value(), absl::OkStatus());
  EXPECT_EQ(response_.workspace().id(), 7);

  // The next master returns it too; another user or another key does not get it.
  IdempotencyStore next(&store_.stored_responses(), &clock_);
  EXPECT_TRUE(next.Begin(Make("a"), &response_)->has_value());
  EXPECT_FALSE(next.Begin(Make("a", "k", 2), &response_)->has_value());
  EXPECT_FALSE(next.Begin(Make("a", "other"), &response_)->has_value());

  clock_.Advance(kStoredResponseLifetime + absl::Seconds(1));
  EXPECT_FALSE(responses_.Begin(Make("b"), &response_)->has_value());
}

TEST_F(IdempotencyStoreTest, RejectsADifferentRequestWithTheSameKey) {
  ASSERT_TRUE(responses_.Begin(Make("a"), &response_).ok());
  responses_.End(Make("a"), absl::OkStatus(), Made(7));
  const absl::Status other = responses_.Begin(Make("b"), &response_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("different request"));
  EXPECT_TRUE(responses_.Begin(Make("a"), &response_)->has_value())
      << "the first response is still stored";
  EXPECT_TRUE(absl::IsInvalidArgument(
      responses_.Begin(Make("a", std::string(256, 'x')), &response_).status()));
}

TEST_F(IdempotencyStoreTest, RejectsARepeatedRequest_WhileTheFirstRuns) {
  ASSERT_FALSE(responses_.Begin(Make("a"), &response_)->has_value());
  EXPECT_TRUE(absl::IsAborted(responses_.Begin(Make("a"), &response_).status()));
  responses_.End(Make("a"), absl::OkStatus(), Made(7));
  EXPECT_TRUE(responses_.Begin(Make("a"), &response_)->has_value());
}

TEST_F(IdempotencyStoreTest, RetriesOnlyTransientFailures) {
  ASSERT_TRUE(responses_.Begin(Make("a"), &response_).ok());
  responses_.End(Make("a"), absl::UnavailableError("unavailable"), response_);
  EXPECT_FALSE(responses_.Begin(Make("a"), &response_)->has_value());
  responses_.End(Make("a"), absl::AlreadyExistsError("taken"), response_);
  EXPECT_EQ(responses_.Begin(Make("a"), &response_).value(), absl::AlreadyExistsError("taken"));
}

TEST_F(IdempotencyStoreTest, DoesNotStoreSecrets) {
  v1::PostUserRequest user;
  user.mutable_user()->set_username("ann");
  user.set_password("one");
  const std::string hash = IdempotencyStore::HashRequest(user);
  user.set_password("two");
  EXPECT_EQ(IdempotencyStore::HashRequest(user), hash);
  user.mutable_user()->set_username("ben");
  EXPECT_NE(IdempotencyStore::HashRequest(user), hash);

  v1::PostAccessTokenResponse token;
  token.set_token("secret");
  ASSERT_TRUE(responses_.Begin(Make("a"), &token).ok());
  responses_.End(Make("a"), absl::OkStatus(), token);
  EXPECT_TRUE(store_.stored_responses().GetResponse(model::UserId(1), "k", {})->value().response.empty());
  token.Clear();
  const auto again = responses_.Begin(Make("a"), &token);
  EXPECT_TRUE(absl::IsAlreadyExists(**again));
  EXPECT_TRUE(token.token().empty());
}

}  // namespace
}  // namespace det::api
