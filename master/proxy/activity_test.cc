#include "master/proxy/activity.h"

#include "gtest/gtest.h"

namespace det::proxy {
namespace {

TEST(Activity, RemembersTheLastRequestOfEachTask) {
  base::FakeClock clock;
  Activity activity(&clock);
  const model::TaskId used("used");
  const model::TaskId other("other");
  const absl::Time start = clock.Now();
  EXPECT_EQ(activity.Last(used), std::nullopt);
  activity.Touch(used);
  clock.Advance(absl::Seconds(5));
  activity.Touch(other);
  EXPECT_EQ(activity.Last(used), start);
  activity.Touch(used);
  EXPECT_EQ(activity.Last(used), start + absl::Seconds(5));
}

TEST(Activity, RetainsNamedTasks) {
  base::FakeClock clock;
  Activity activity(&clock);
  activity.Touch(model::TaskId("a"));
  activity.Touch(model::TaskId("b"));
  activity.Retain({model::TaskId("b")});
  EXPECT_EQ(activity.Last(model::TaskId("a")), std::nullopt);
  EXPECT_NE(activity.Last(model::TaskId("b")), std::nullopt);
}

}  // namespace
}  // namespace det::proxy
