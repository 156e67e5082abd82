// Runs one history per seed. `--seed=N` (or DET_SIM_SEED=N) replays one of them and prints its
// events; `--seeds=N` sets the number of seeds, which are divided among the shards.
//
// The file is not named *_test.cc because those are compiled without optimization, which would be
// too slow.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "base/log.h"
#include "gtest/gtest.h"
#include "tests/sim/world.h"

namespace det::sim {
namespace {

uint64_t first_seed = 1;
uint64_t seeds = 10'000;
bool one = false;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number : otherwise;
}

// Checks that a search makes the same decisions as the same search without faults.
absl::Status Compare(uint64_t seed, World& world) {
  const std::string troubled = world.decisions();
  if (troubled.empty()) return absl::OkStatus();
  World undisturbed(seed, World::Kind::kUndisturbed, one);
  if (absl::Status status = undisturbed.Run(); !status.ok()) return status;
  if (undisturbed.decisions() == troubled) return absl::OkStatus();
  return absl::InternalError(
      "a search made different decisions than without faults.\nWithout faults: " +
      undisturbed.decisions() + "\nWith faults: " + troubled + "\n");
}

absl::Status Play(uint64_t seed, Counts& all) {
  World world(seed, World::Kind::kTroubled, one);
  if (absl::Status status = world.Run(); !status.ok()) return status;
  for (const CountField& count : kCountFields) all.*count.field += world.counts().*count.field;
  all.compared += !world.decisions().empty();
  return Compare(seed, world);
}

TEST(SimTest, SatisfiesInvariants) {
  const uint64_t shards = one ? 1 : FromEnvironment("TEST_TOTAL_SHARDS", 1);
  const uint64_t shard = one ? 0 : FromEnvironment("TEST_SHARD_INDEX", 0);
  Counts all;
  int broken = 0;
  uint64_t played = 0;
  for (uint64_t seed = first_seed + shard; seed < first_seed + seeds; seed += shards) {
    ++played;
    const absl::Status status = Play(seed, all);
    EXPECT_TRUE(status.ok()) << "seed " << seed << ": " << status.message()
                             << "; see it with --seed=" << seed;
    if (!status.ok() && ++broken >= 10) break;
  }
  std::cout << played << " seeds:\n";
  for (const CountField& count : kCountFields) {
    std::cout << "  " << all.*count.field << " " << count.name << "\n";
  }
  // A simulation in which nothing happens proves nothing, so each kind of event must occur.
  if (played < 1'000 || broken > 0) return;
  for (const CountField& count : kCountFields) EXPECT_GT(all.*count.field, 0) << count.name;
}

TEST(SimTest, ReplaysSeedExactly) {
  for (uint64_t seed = first_seed; seed < first_seed + std::min<uint64_t>(seeds, 20); ++seed) {
    World once(seed);
    World again(seed);
    EXPECT_EQ(once.Run(), again.Run()) << "seed " << seed;
    EXPECT_EQ(once.digest(), again.digest()) << "seed " << seed;
    EXPECT_EQ(once.counts().commits, again.counts().commits) << "seed " << seed;
  }
}

bool TakeSeed(absl::string_view text) {
  one = true;
  seeds = 1;
  return absl::SimpleAtoi(text, &first_seed);
}

}  // namespace
}  // namespace det::sim

int main(int argc, char** argv) {
  // Each shard runs all tests with its own seeds.
  for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(name);
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
  // The simulated masters log database failures and takeovers, which are expected.
  det::base::InitLog({.level = det::base::LogLevel::kError});
  return RUN_ALL_TESTS();
}
