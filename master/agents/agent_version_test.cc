#include "master/agents/agent_version.h"

#include <string>

#include "base/installation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::agents {
namespace {

using ::testing::HasSubstr;

TEST(AgentVersionTest, AcceptsSameAndPreviousMinorVersion) {
  struct Case {
    const char* master;
    const char* agent;
    const char* expected_text;  // part of the error; empty: accepted
  };
  const Case kCases[] = {
      {"1.4.0", "1.4.0", ""},
      {"1.4.2", "1.4.0", ""},
      {"1.4.0", "1.4.2", ""},
      {"1.4.0", "1.3.9", ""},
      {"1.4", "1.3.9-rc1", ""},
      {"1.4.0", "1.2.9", "too old for this master, which is 1.4.0; install resolute-agent 1.4.0"},
      {"1.4.0", "0.9.0", "too old"},
      {"1.0.0", "0.9.0", "too old"},
      {"1.4.0", "1.5.0", "too new for this master, which is 1.4.0; install resolute-agent 1.4.0"},
      {"1.4.0", "1.5.0", "or upgrade the master first"},
      {"1.4.0", "2.3.0", "too new"},
      {"1.4.0", "2.0.0", "too new"},
      {"1.0.0", "1.-1.0", "not a valid agent version"},
      {"1.4.0", "", "not a valid agent version"},
      {"1.4.0", "1", "not a valid agent version"},
      {"1.4.0", "1.x", "not a valid agent version"},
      {"1.4.0", "latest", "not a valid agent version"},
      {"1.4.0", "1.99999999999", "not a valid agent version"},
  };
  for (const Case& each : kCases) {
    const absl::Status status = CheckAgentVersion(each.master, each.agent);
    EXPECT_EQ(status.ok(), std::string(each.expected_text).empty()) << each.agent << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(each.expected_text)) << each.agent;
  }
  EXPECT_TRUE(CheckAgentVersion(base::kVersion, base::kVersion).ok());
}

}  // namespace
}  // namespace det::agents
