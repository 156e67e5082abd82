// det preview-search, det search simulate: what they ask.
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

TEST_F(SearchSeedTest, IsAnyThatAnExperimentMayHave) {
  for (const std::string seed : {"0", "7", "4294967295"}) {
    for (const std::string& words : {Preview(" --seed " + seed), Simulate(" --seed " + seed)}) {
      const Said said = Det(words, {"{}"});
      ASSERT_TRUE(said.code.ok()) << said.code.status();
      EXPECT_THAT(said.requests, ElementsAre(HasSubstr("\"seed\":" + seed))) << words;
    }
  }
}

TEST_F(SearchSeedTest, IsTheConfigurationsWhereNoneIsGiven) {
  for (const std::string& words : {Preview(""), Simulate("")}) {
    EXPECT_THAT(Det(words, {"{}"}).requests, ElementsAre(Not(HasSubstr("seed")))) << words;
  }
}

TEST_F(SearchSeedTest, IsNothingElse) {
  for (const std::string seed : {"-1", "4294967296", "x", "1.5"}) {
    const Said said = Det(Preview(" --seed=" + seed), {});
    EXPECT_THAT(std::string(said.code.status().message()),
                HasSubstr("--seed: expected an integer from 0 to 4294967295, found \"" + seed));
    EXPECT_THAT(said.requests, IsEmpty());
  }
}

}  // namespace
}  // namespace det::cli
