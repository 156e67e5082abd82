#include "master/core/cluster/slot_index.h"

#include <string>

#include <gtest/gtest.h>

namespace det::cluster {
namespace {

using model::AgentId;
using model::AllocationId;
using model::Placement;

const Placement kSlot{AgentId("a"), {0}};

experiment::Allocation Part(const std::string& id, double fraction) {
  experiment::Allocation allocation;
  allocation.id = AllocationId(id);
  allocation.fraction = fraction;
  allocation.shares.push_back({.placement = kSlot});
  return allocation;
}

// What the scheduler finds room for, in whole millionths, has room here: or its plan would be
// refused for ever.
TEST(SlotIndexTest, CountsPartsAsTheSchedulerDoes) {
  SlotIndex index;
  for (const char* id : {"1", "2", "3"}) {
    EXPECT_TRUE(index.HasRoom(kSlot, 0.3333337)) << id;
    index.Put(Part(id, 0.3333337));
  }
  EXPECT_FALSE(index.HasRoom(kSlot, 0.3333337));
  index.Remove(AllocationId("2"));
  EXPECT_TRUE(index.HasRoom(kSlot, 0.3333337));
  EXPECT_FALSE(index.HasRoom(kSlot, 1));
}

TEST(SlotIndexTest, AnExitedShareHoldsNothing) {
  SlotIndex index;
  experiment::Allocation allocation = Part("1", 1);
  index.Put(allocation);
  EXPECT_FALSE(index.HasRoom(kSlot, 1));
  allocation.shares[0].exited = true;
  index.Put(allocation);
  EXPECT_TRUE(index.HasRoom(kSlot, 1));
  EXPECT_EQ(index.On(AgentId("a")).size(), 1);
}

}  // namespace
}  // namespace det::cluster
