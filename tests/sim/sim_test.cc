// Many histories, one per seed. `--seed=N` (or DET_SIM_SEED=N) replays one of them with its events;
// `--seeds=N` plays that many.
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/sim/world.h"

namespace det::sim {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 600;

TEST(SimTest, HoldsItsInvariants) {
  Counts all;
  int broken = 0;
  for (uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    World world(seed, seeds == 1);
    const absl::Status status = world.Run();
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.message()
                             << "; see it with --seed=" << seed;
    if (!status.ok() && ++broken >= 10) break;
    const Counts& c = world.counts();
    all.events += c.events;
    all.commits += c.commits;
    all.crashes += c.crashes;
    all.broken_streams += c.broken_streams;
    all.reboots += c.reboots;
    all.lost_agents += c.lost_agents;
    all.double_creations += c.double_creations;
    all.preemptions += c.preemptions;
    all.holds += c.holds;
    all.restarts += c.restarts;
    all.completed += c.completed;
    all.canceled += c.canceled;
    all.failed += c.failed;
  }
  std::cout << seeds << " seeds: " << all.events << " events, " << all.commits << " commits, "
            << all.crashes << " crashes of the master, " << all.broken_streams
            << " broken streams, " << all.reboots << " reboots, " << all.lost_agents
            << " lost agents, " << all.double_creations << " double creations, " << all.preemptions
            << " preemptions, " << all.holds << " holds, " << all.restarts
            << " restarts; experiments: " << all.completed << " completed, " << all.canceled
            << " canceled, " << all.failed << " failed\n";
  // A simulation in which nothing happens proves nothing.
  if (seeds < 100 || broken > 0) return;
  EXPECT_GT(all.crashes, 0);
  EXPECT_GT(all.lost_agents, 0);
  EXPECT_GT(all.preemptions, 0);
  EXPECT_GT(all.holds, 0);
  EXPECT_GT(all.restarts, 0);
  EXPECT_GT(all.completed, 0);
  EXPECT_GT(all.canceled, 0);
  EXPECT_GT(all.failed, 0);
}

bool TakeSeed(absl::string_view text) {
  seeds = 1;
  return absl::SimpleAtoi(text, &first_seed);
}

}  // namespace
}  // namespace det::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  bool good = true;
  if (const char* seed = std::getenv("DET_SIM_SEED")) good = det::sim::TakeSeed(seed);
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (absl::ConsumePrefix(&argument, "--seed=")) {
      good = good && det::sim::TakeSeed(argument);
    } else if (absl::ConsumePrefix(&argument, "--seeds=")) {
      good = good && absl::SimpleAtoi(argument, &det::sim::seeds);
    } else {
      good = false;
    }
  }
  if (!good) {
    std::cerr << "usage: sim_test [--seed=N | --seeds=N]\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
