#include "master/parse/task_defaults.h"

#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/parse/parse.h"
#include "master/parse/problems.h"

namespace det::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Answer {
  Value layer;
  std::vector<std::string> problems;
  std::vector<std::string> warnings;
};

Answer Read(const std::string& yaml) {
  const auto node = ReadYaml(yaml, "master.yaml", true);
  EXPECT_TRUE(node.ok()) << node.status();
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
  Answer answer;
  answer.layer = ReadTaskDefaults(*node, "task_container_defaults", problems, warnings);
  answer.problems = ToLines(std::move(problems));
  answer.warnings = ToLines(std::move(warnings));
  return answer;
}

TEST(TaskDefaultsTest, AreMergedBelowExperiment) {
  const Answer answer = Read(R"(
environment_variables: [SITE=here, PROXY=p]
dtrain_network_interface: ib0
bind_mounts: [{host_path: /data, container_path: /data}]
preemption_timeout: 60
)");
  EXPECT_THAT(answer.problems, IsEmpty());
  ConfigDefaults defaults;
  defaults.checkpoint_host_path = "/ckpt";
  defaults.below.push_back({"task_container_defaults", answer.layer.ToJson()});
  const auto config = ParseExperimentConfig(R"(
entrypoint: x
searcher: {name: single, metric: m}
environment: {environment_variables: [PROXY=mine]}
bind_mounts: [{host_path: /own, container_path: /own}]
)",
                                            "a.yaml", {}, defaults);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->environment.variables.cuda,
              ElementsAre("SITE=here", "PROXY=p", "NCCL_SOCKET_IFNAME=ib0",
                          "GLOO_SOCKET_IFNAME=ib0", "PROXY=mine"));
  ASSERT_EQ(config->bind_mounts.size(), 2u);
  EXPECT_EQ(config->bind_mounts[0].host_path, "/data");
  EXPECT_EQ(config->preemption_timeout_seconds, 60);
}

TEST(TaskDefaultsTest, ReportProblems) {
  EXPECT_THAT(Read("environment_variable: [A=b]\n").problems,
              ElementsAre("master.yaml:1: task_container_defaults.environment_variable: unknown "
                          "field; did you mean environment_variables?"));
  EXPECT_THAT(Read("preemption_timeout: soon\n").problems,
              ElementsAre(HasSubstr("master.yaml:1: task_container_defaults: preemption_timeout: "
                                    "expected")));
  EXPECT_THAT(Read("bind_mounts: [{host_path: /a}]").problems,
              ElementsAre(HasSubstr("bind_mounts[0].container_path: required")));
  EXPECT_THAT(Read("startup_hook: [a]").problems,
              ElementsAre(HasSubstr("expected a shell script, found a list")));
  EXPECT_THAT(Read("dtrain_network_interface: [a]").problems,
              ElementsAre(HasSubstr("name of a network interface, found a list")));
}

TEST(TaskDefaultsTest, WarnAboutIgnoredKeys) {
  const Answer answer = Read("image: x\nshm_size_bytes: 4294967296\n");
  EXPECT_TRUE(answer.layer.is_null());
  EXPECT_THAT(answer.problems, IsEmpty());
  EXPECT_THAT(
      answer.warnings,
      ElementsAre("master.yaml:1: task_container_defaults.image: tasks run as processes on the "
                  "agent's machine, not in containers",
                  HasSubstr("shm_size_bytes")));
}

}  // namespace
}  // namespace det::model
