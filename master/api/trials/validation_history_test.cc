#include "master/api/trials/validation_history.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::api {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Validation At(int second, int trial, double metric) {
  return {absl::FromUnixSeconds(second), model::TrialId(trial), metric};
}

TEST(ValidationHistoryTest, SelectsImprovementsOnly) {
  const std::vector<Validation> all = {At(1, 1, 0.5), At(4, 1, 0.4), At(2, 2, 0.7), At(3, 2, 0.5),
                                       At(5, 2, 0.6)};
  EXPECT_THAT(SelectImprovements(all, true), ElementsAre(At(1, 1, 0.5), At(4, 1, 0.4)));
  EXPECT_THAT(SelectImprovements(all, false), ElementsAre(At(1, 1, 0.5), At(2, 2, 0.7)));
  EXPECT_THAT(SelectImprovements({}, true), IsEmpty());
}

}  // namespace
}  // namespace det::api
