// det preview-search, det search simulate: requests.
#include <string>

#include "base/file.h"
#include "cli/testing/run_det.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class SearchSeedTest : public ::testing::Test {
 protected:
  SearchSeedTest() {
    EXPECT_TRUE(base::WriteFileAtomically(config(), "name: any\n").ok());
    EXPECT_TRUE(base::WriteFileAtomically(curves(), "lr,length,loss\n1,1,1\n").ok());
  }
  std::string config() const { return folder_.path() + "/c.yaml"; }
  std::string curves() const { return folder_.path() + "/curves.csv"; }
  std::string Preview(const std::string& seed) const { return "preview-search " + config() + seed; }
  std::string Simulate(const std::string& seed) const {
    return "search simulate " + config() + " --objective " + curves() + seed;
  }

 private:
  const base::TempDir folder_ = *base::TempDir::Create();
};

TEST_F(SearchSeedTest, AcceptsEverySeedOfAnExperiment) {
  for (const std::string seed : {"0", "7", "4294967295"}) {
    for (const std::string& words : {Preview(" --seed " + seed), Simulate(" --seed " + seed)}) {
      const DetResult result = RunDet(words, {"{}"});
      ASSERT_TRUE(result.code.ok()) << result.code.status();
      EXPECT_THAT(result.requests, ElementsAre(HasSubstr("\"seed\":" + seed))) << words;
    }
  }
}

TEST_F(SearchSeedTest, UsesSeedOfConfig_WhenNotGiven) {
  for (const std::string& words : {Preview(""), Simulate("")}) {
    EXPECT_THAT(RunDet(words, {"{}"}).requests, ElementsAre(Not(HasSubstr("seed")))) << words;
  }
}

TEST_F(SearchSeedTest, RejectsOtherValues) {
  for (const std::string seed : {"-1", "4294967296", "x", "1.5"}) {
    const DetResult result = RunDet(Preview(" --seed=" + seed), {});
    EXPECT_THAT(std::string(result.code.status().message()),
                HasSubstr("--seed: expected an integer from 0 to 4294967295, found \"" + seed));
    EXPECT_THAT(result.requests, IsEmpty());
  }
}

}  // namespace
}  // namespace det::cli
