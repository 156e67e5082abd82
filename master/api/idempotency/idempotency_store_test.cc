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

class FirstAnswersTest : public testing::Test {
 protected:
  static FirstAnswers::Ask Make(const std::string& name, const std::string& key = "k",
                                int user = 1) {
    v1::PostWorkspaceRequest request;
    request.set_name(name);
    return {model::UserId(user), key, "m", FirstAnswers::HashOf(request)};
  }
  static v1::PostWorkspaceResponse Made(int id) {
    v1::PostWorkspaceResponse response;
    response.mutable_workspace()->set_id(id);
    return response;
  }

  store::FakeStore store_;
  base::FakeClock clock_;
  FirstAnswers answers_{&store_.answers(), &clock_};
  v1::PostWorkspaceResponse response_;
};

TEST_F(FirstAnswersTest, ARepetitionGetsTheFirstAnswer) {
  EXPECT_FALSE(answers_.Begin(Make("a"), &response_)->has_value());
  answers_.End(Make("a"), absl::OkStatus(), Made(7));
  EXPECT_EQ(answers_.Begin(Make("a"), &response_).value(), absl::OkStatus());
  EXPECT_EQ(response_.workspace().id(), 7);

  // Also by the master that comes next; not for another user, under another key.
  FirstAnswers next(&store_.answers(), &clock_);
  EXPECT_TRUE(next.Begin(Make("a"), &response_)->has_value());
  EXPECT_FALSE(next.Begin(Make("a", "k", 2), &response_)->has_value());
  EXPECT_FALSE(next.Begin(Make("a", "other"), &response_)->has_value());

  clock_.Advance(kAnswerLives + absl::Seconds(1));
  EXPECT_FALSE(answers_.Begin(Make("b"), &response_)->has_value());
}

TEST_F(FirstAnswersTest, AnotherRequestUnderTheKeyIsRefused) {
  ASSERT_TRUE(answers_.Begin(Make("a"), &response_).ok());
  answers_.End(Make("a"), absl::OkStatus(), Made(7));
  const absl::Status other = answers_.Begin(Make("b"), &response_).status();
  EXPECT_TRUE(absl::IsInvalidArgument(other));
  EXPECT_THAT(std::string(other.message()), HasSubstr("another request"));
  EXPECT_TRUE(answers_.Begin(Make("a"), &response_)->has_value()) << "the first still stands";
  EXPECT_TRUE(absl::IsInvalidArgument(
      answers_.Begin(Make("a", std::string(256, 'x')), &response_).status()));
}

TEST_F(FirstAnswersTest, OneAtATime) {
  ASSERT_FALSE(answers_.Begin(Make("a"), &response_)->has_value());
  EXPECT_TRUE(absl::IsAborted(answers_.Begin(Make("a"), &response_).status()));
  answers_.End(Make("a"), absl::OkStatus(), Made(7));
  EXPECT_TRUE(answers_.Begin(Make("a"), &response_)->has_value());
}

TEST_F(FirstAnswersTest, OnlyWhatFailedForGoodIsNotTriedAgain) {
  ASSERT_TRUE(answers_.Begin(Make("a"), &response_).ok());
  answers_.End(Make("a"), absl::UnavailableError("away"), response_);
  EXPECT_FALSE(answers_.Begin(Make("a"), &response_)->has_value());
  answers_.End(Make("a"), absl::AlreadyExistsError("taken"), response_);
  EXPECT_EQ(answers_.Begin(Make("a"), &response_).value(), absl::AlreadyExistsError("taken"));
}

TEST_F(FirstAnswersTest, SecretsAreNotKept) {
  v1::PostUserRequest user;
  user.mutable_user()->set_username("ann");
  user.set_password("one");
  const std::string hash = FirstAnswers::HashOf(user);
  user.set_password("two");
  EXPECT_EQ(FirstAnswers::HashOf(user), hash);
  user.mutable_user()->set_username("ben");
  EXPECT_NE(FirstAnswers::HashOf(user), hash);

  v1::PostAccessTokenResponse token;
  token.set_token("secret");
  ASSERT_TRUE(answers_.Begin(Make("a"), &token).ok());
  answers_.End(Make("a"), absl::OkStatus(), token);
  EXPECT_TRUE(store_.answers().GetAnswer(model::UserId(1), "k", {})->value().response.empty());
  token.Clear();
  const auto again = answers_.Begin(Make("a"), &token);
  EXPECT_TRUE(absl::IsAlreadyExists(**again));
  EXPECT_TRUE(token.token().empty());
}

}  // namespace
}  // namespace det::api
