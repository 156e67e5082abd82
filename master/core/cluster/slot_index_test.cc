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
  allocation.local_tasks.push_back({.placement = kSlot});
  return allocation;
}

// What fits in the scheduler, in millionths of a slot, must fit here: otherwise its plan would be
// rejected forever.
TEST(SlotIndexTest, CountsFractionsLikeScheduler) {
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

TEST(SlotIndexTest, ReleasesSlotsOfExitedLocalTask) {
  SlotIndex index;
  experiment::Allocation allocation = Part("1", 1);
  index.Put(allocation);
  EXPECT_FALSE(index.HasRoom(kSlot, 1));
  allocation.local_tasks[0].exited = true;
  index.Put(allocation);
  EXPECT_TRUE(index.HasRoom(kSlot, 1));
  EXPECT_EQ(index.On(AgentId("a")).size(), 1);
}

}  // namespace
}  // namespace det::cluster
