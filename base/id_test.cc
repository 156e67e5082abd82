#include "base/id.h"

#include <cstdint>
#include <set>
#include <sstream>
#include <type_traits>
#include <unordered_set>

#include "absl/container/flat_hash_set.h"
#include <gtest/gtest.h>

namespace det::base {
namespace {

using TrialId = Id<struct TrialIdTag, int32_t>;
using AgentId = Id<struct AgentIdTag, std::string>;

static_assert(!std::is_convertible_v<int32_t, TrialId>);
static_assert(!std::is_convertible_v<TrialId, int32_t>);
static_assert(!std::is_constructible_v<TrialId, AgentId>);
static_assert(TrialId() == TrialId(0));

TEST(IdTest, ComparesAndHashesByValue) {
  EXPECT_LT(TrialId(2), TrialId(10));
  EXPECT_NE(AgentId("a"), AgentId("b"));
  EXPECT_EQ((std::unordered_set<TrialId>{TrialId(1), TrialId(1)}).size(), 1u);
  EXPECT_EQ((absl::flat_hash_set<AgentId>{AgentId("a"), AgentId("a")}).size(), 1u);
  EXPECT_EQ((std::set<TrialId>{TrialId(3), TrialId(1)}).begin()->value(), 1);
}

TEST(IdTest, PrintsItsValue) {
  std::ostringstream out;
  out << TrialId(7) << " " << AgentId("a1");
  EXPECT_EQ(out.str(), "7 a1");
  EXPECT_EQ(ToString(TrialId(7)) + ToString(AgentId("a1")), "7a1");
}

}  // namespace
}  // namespace det::base
