#include "master/parse/merge.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/parse/shape.h"
#include "master/parse/testing.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::model {
namespace {

using ::testing::HasSubstr;

std::string Merged(const std::string& low, const std::string& high) {
  ConfigNode a = *ReadYaml(low, "low.yaml", true), b = *ReadYaml(high, "high.yaml", true);
  ToTableForm(a);
  ToTableForm(b);
  return MergeConfig(a, b).ToValue().ToJson();
}

struct Case {
  const char* low;
  const char* high;
  const char* merged;
};

// Each merge rule of the reference.
TEST(MergeTest, AppliesMergeRuleOfEachField) {
  const Case cases[] = {
      // Scalars override, maps merge, lists replace.
      {"{max_restarts: 1}", "{max_restarts: 2}", R"({"max_restarts":2})"},
      {"{resources: {priority: 3, weight: 2}}", "{resources: {weight: 5}}",
       R"({"resources":{"priority":3,"weight":5}})"},
      {"{labels: [a]}", "{labels: [b]}", R"({"labels":["b"]})"},
      {"{entrypoint: [a, b]}", "{entrypoint: c}", R"({"entrypoint":"c"})"},
      {"{data: {a: {x: 1}, l: [1]}}", "{data: {a: {y: 2}, l: [2]}}",
       R"({"data":{"a":{"x":1,"y":2},"l":[2]}})"},
      // A length is one value.
      {"{min_validation_period: {batches: 1}}", "{min_validation_period: {epochs: 2}}",
       R"({"min_validation_period":{"epochs":2}})"},
      // Null is equivalent to absent.
      {"{max_restarts: 1}", "{max_restarts: null}", R"({"max_restarts":1})"},
      {"{max_restarts: null}", "{max_restarts: 3}", R"({"max_restarts":3})"},
      {"{resources: {priority: 3}}", "{resources: null}", R"({"resources":{"priority":3}})"},
      // Old forms are converted.
      {"{optimizations: {gradient_compression: int8}}",
       "{optimizations: {gradient_compression: true}}",
       R"({"optimizations":{"gradient_compression":"float16"}})"},
      {"{optimizations: {gradient_compression: false}}", "{}",
       R"({"optimizations":{"gradient_compression":"none"}})"},
      // Lists that are appended, or replaced by key.
      {"{bind_mounts: [{host_path: /a, container_path: /x}, {host_path: /b, container_path: /y}]}",
       "{bind_mounts: [{host_path: /c, container_path: /x}, {host_path: /d, container_path: /z}]}",
       R"({"bind_mounts":[{"container_path":"/x","host_path":"/c"},)"
       R"({"container_path":"/y","host_path":"/b"},{"container_path":"/z","host_path":"/d"}]})"},
      {"{resources: {devices: ['/dev/a:/dev/x']}}",
       "{resources: {devices: [{host_path: /dev/b, container_path: /dev/x}, '/dev/c:/dev/c:r']}}",
       R"({"resources":{"devices":[{"container_path":"/dev/x","host_path":"/dev/b"},)"
       R"({"container_path":"/dev/c","host_path":"/dev/c","mode":"r"}]}})"},
      {"{environment: {environment_variables: [A=1, B=2]}}",
       "{environment: {environment_variables: {cuda: [A=3], gpu: null}}}",
       R"({"environment":{"environment_variables":{"cpu":["A=1","B=2"],)"
       R"("cuda":["A=1","B=2","A=3"],"rocm":["A=1","B=2"]}}})"},
      {"{environment: {environment_variables: {gpu: [A=1]}}}",
       "{environment: {environment_variables: [B=2]}}",
       R"({"environment":{"environment_variables":{"cpu":["B=2"],"cuda":["A=1","B=2"],)"
       R"("rocm":["B=2"]}}})"},
      {"{environment: {proxy_ports: [{proxy_port: 1}, {proxy_port: 2}]}}",
       "{environment: {proxy_ports: [{proxy_port: 2, proxy_tcp: true}, {proxy_port: 3}]}}",
       R"({"environment":{"proxy_ports":[{"proxy_port":1},{"proxy_port":2,"proxy_tcp":true},)"
       R"({"proxy_port":3}]}})"},
      {"{environment: {image: a}}", "{environment: {image: {gpu: b}}}",
       R"({"environment":{"image":{"cpu":"a","cuda":"b","rocm":"a"}}})"},
      {"{environment: {add_capabilities: [A]}}", "{environment: {add_capabilities: [B]}}",
       R"({"environment":{"add_capabilities":["B"]}})"},
      {"{slurm: {sbatch_args: [a], gpu_type: x}}", "{slurm: {sbatch_args: [b]}}",
       R"({"slurm":{"gpu_type":"x","sbatch_args":["a","b"]}})"},
      {"{pbs: {pbsbatch_args: [a]}}", "{pbs: {pbsbatch_args: [b]}}",
       R"({"pbs":{"pbsbatch_args":["a","b"]}})"},
      {"{log_policies: [{name: n, pattern: p}, {name: m, pattern: q}]}",
       "{log_policies: [{name: n, pattern: r, action: {type: exclude_node}}]}",
       R"({"log_policies":[{"action":"exclude_node","name":"n","pattern":"r"},)"
       R"({"name":"m","pattern":"q"}]})"},
      // Hyperparameters merge if both are nested.
      {"{hyperparameters: {a: 1, n: {x: 1, y: 2}}}", "{hyperparameters: {n: {y: 3}, b: 2}}",
       R"({"hyperparameters":{"a":1,"b":2,"n":{"x":1,"y":3}}})"},
      {"{hyperparameters: {a: {type: int, minval: 1, maxval: 2}}}",
       "{hyperparameters: {a: {type: double, minval: 0, maxval: 1}}}",
       R"({"hyperparameters":{"a":{"maxval":1,"minval":0,"type":"double"}}})"},
      {"{hyperparameters: {a: {x: 1}}}", "{hyperparameters: {a: {type: const, val: 1}}}",
       R"({"hyperparameters":{"a":{"type":"const","val":1}}})"},
      {"{hyperparameters: {a: 1}}", "{hyperparameters: {a: null}}",
       R"({"hyperparameters":{"a":null}})"},
      // Fields that do not apply to the new kind are dropped.
      {"{searcher: {name: random, max_trials: 4, metric: m, sampler: tpe}}",
       "{searcher: {name: grid}}", R"({"searcher":{"metric":"m","name":"grid"}})"},
      {"{searcher: {name: random, max_trials: 4, metric: m}}", "{searcher: {name: tpe}}",
       R"({"searcher":{"max_trials":4,"metric":"m","name":"tpe"}})"},
      {"{checkpoint_storage: {host_path: /a, save_trial_best: 3}}",
       "{checkpoint_storage: {type: s3, bucket: b}}",
       R"({"checkpoint_storage":{"bucket":"b","save_trial_best":3,"type":"s3"}})"},
      {"{checkpoint_storage: {type: s3, bucket: b, prefix: p}}",
       "{checkpoint_storage: {type: s3, bucket: c}}",
       R"({"checkpoint_storage":{"bucket":"c","prefix":"p","type":"s3"}})"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(Merged(c.low, c.high), c.merged) << c.low << " + " << c.high;
}

TEST(MergeTest, MergesLayersInOrder) {
  ConfigDefaults defaults = TestDefaults();
  defaults.below = {{"scheduler", "resources: {priority: 42}"},
                    {"master", "checkpoint_storage: {type: directory, container_path: /m}"},
                    {"workspace", "checkpoint_storage: {type: shared_fs, host_path: /w}"},
                    {"empty", ""},
                    {"template t",
                     "max_restarts: 2\ndescription: from t\nlabels: [t]\n"
                     "resources: {priority: 10}\n"}};
  defaults.above = {{"policy", "resources: {priority: 50}"}, {"cluster", "max_restarts: 1"}};
  const auto config =
      ParseExperimentConfig(absl::StrCat(kMinimal, "max_restarts: 3\nlabels: [own]\n"), "c.yaml",
                            {"name=mine", "resources.priority=7"}, defaults);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->checkpoint_storage.type, "shared_fs");
  EXPECT_EQ(config->checkpoint_storage.host_path, "/w");
  EXPECT_EQ(config->checkpoint_storage.container_path, "");
  EXPECT_EQ(config->description, "from t");
  EXPECT_EQ(config->labels, std::vector<std::string>{"own"});
  EXPECT_EQ(config->name, "mine");
  EXPECT_EQ(config->resources.priority, 50);
  EXPECT_EQ(config->max_restarts, 1);
}

TEST(MergeTest, ReportsLayerOfProblem) {
  ConfigDefaults defaults = TestDefaults();
  defaults.below = {{"template t", "name: a\nmax_restarts: many\nsearcher:\n  metrik: x\n"}};
  defaults.above = {{"policy", "resources: {weight: heavy}"}};
  const auto config = ParseExperimentConfig(absl::StrCat(kMinimal, "debug: 3\n"), "c.yaml",
                                            {"preemption_timeout=0"}, defaults);
  const std::string message(config.status().message());
  EXPECT_THAT(message, HasSubstr("template t:2: max_restarts: expected an integer >= 0, found"));
  EXPECT_THAT(message,
              HasSubstr("template t:4: searcher.metrik: unknown field; did you mean metric"));
  EXPECT_THAT(message, HasSubstr("policy:1: resources.weight: expected a number"));
  EXPECT_THAT(message, HasSubstr("c.yaml:3: debug: expected true or false, found 3"));
  EXPECT_THAT(message, HasSubstr("--config preemption_timeout: preemption_timeout: expected"));
  defaults.below = {{"master", "checkpoint_storage: {save_trial_best: 2}"}};
  EXPECT_THAT(ParseExperimentConfig("", "c.yaml", {}, defaults).status().ToString(),
              HasSubstr("c.yaml: the configuration is empty"));
  defaults.below = {{"template broken", "a: ["}};
  EXPECT_THAT(ParseExperimentConfig(kMinimal, "c.yaml", {}, defaults).status().ToString(),
              HasSubstr("template broken:1: not valid YAML"));
  defaults.below = {{"template list", "[a]"}};
  EXPECT_THAT(ParseExperimentConfig(kMinimal, "c.yaml", {}, defaults).status().ToString(),
              HasSubstr("template list: expected a map"));
}

TEST(MergeTest, AcceptsTemplateAlone) {
  ConfigDefaults defaults = TestDefaults();
  defaults.below = {{"template t", kMinimal}};
  const auto config = ParseExperimentConfig("", "c.yaml", {}, defaults);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->searcher.metric, "loss");
}

TEST(MergeTest, ReplacesMapsAndListsInOverrides) {
  const std::string yaml = absl::StrCat(kMinimal, R"(
environment: {environment_variables: [A=1]}
hyperparameters: {lr: {type: log, minval: -4, maxval: -1}, n: {x: 1}}
slurm: {sbatch_args: [a]}
labels: [a]
resources: {slots_per_trial: 2}
data: {a: 1}
)");
  const auto config =
      Parse(yaml, {"environment.environment_variables=[B=2]", "hyperparameters.lr.maxval=0",
                   "hyperparameters.n.y=2", "slurm.sbatch_args=[b]", "labels=[b]",
                   "environment.environment_variables.gpu=[C=3]", "resources={priority: 4}",
                   "data={b: 2}"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->environment.variables.cpu, ::testing::ElementsAre("B=2"));
  EXPECT_THAT(config->environment.variables.cuda, ::testing::ElementsAre("C=3"));
  EXPECT_EQ(std::get<LogHparam>(config->hyperparameters.at("lr").kind), (LogHparam{10, -4, 0, {}}));
  EXPECT_EQ(std::get<NestedHparam>(config->hyperparameters.at("n").kind).members.size(), 2u);
  EXPECT_THAT(config->slurm.args, ::testing::ElementsAre("b"));
  EXPECT_THAT(config->labels, ::testing::ElementsAre("b"));
  EXPECT_EQ(config->resources.priority, 4);
  EXPECT_EQ(config->resources.slots_per_trial, 1);
  EXPECT_EQ(config->data.ToJson(), R"({"b":2})");
}

TEST(MergeTest, AddsToMaps_WhenOverrideHasPlus) {
  const std::string yaml = absl::StrCat(kMinimal, "resources: {slots_per_trial: 2}\n");
  const auto config = Parse(yaml, {"resources+={priority: 4}", "data+={a: 1}"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->resources.priority, 4);
  EXPECT_EQ(config->resources.slots_per_trial, 2);
}

TEST(MergeTest, ReplacesListsOfDocumentOnly_WhenOverridden) {
  ConfigDefaults defaults = TestDefaults();
  defaults.below = {{"template t", "environment: {environment_variables: [T=1]}\nlabels: [t]"}};
  const auto config =
      ParseExperimentConfig(absl::StrCat(kMinimal,
                                         "environment: {environment_variables: [A=1]}\n"
                                         "bind_mounts: [{host_path: /a, container_path: /a}]\n"),
                            "c.yaml",
                            {"environment.environment_variables=[B=2]",
                             "bind_mounts={host_path: /b, container_path: /b}"},
                            defaults);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->environment.variables.cpu, ::testing::ElementsAre("T=1", "B=2"));
  ASSERT_EQ(config->bind_mounts.size(), 1u);
  EXPECT_EQ(config->bind_mounts[0].host_path, "/b");
  EXPECT_THAT(config->labels, ::testing::ElementsAre("t"));
}

TEST(MergeTest, AppendsToLists_WhenOverrideHasPlus) {
  const std::string yaml = absl::StrCat(kMinimal, R"(
environment: {environment_variables: [A=1]}
bind_mounts: [{host_path: /a, container_path: /a}]
labels: [a]
hyperparameters: {sizes: [1]}
)");
  const auto config =
      Parse(yaml, {"environment.environment_variables+=[B=2]",
                   "environment.environment_variables.gpu+=C=3", "labels+=b", "labels+=[c, d]",
                   "bind_mounts+={host_path: /b, container_path: /b}", "hyperparameters.sizes+=2,3",
                   "resources.blocked_agents+=x"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->environment.variables.cpu, ::testing::ElementsAre("A=1", "B=2"));
  EXPECT_THAT(config->environment.variables.cuda, ::testing::ElementsAre("A=1", "B=2", "C=3"));
  EXPECT_THAT(config->labels, ::testing::ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(config->bind_mounts.size(), 2u);
  EXPECT_EQ(ToValue(config->hyperparameters).ToJson(),
            R"({"sizes":{"type":"const","val":[1,2,3]}})");
  EXPECT_THAT(config->resources.blocked_agents, ::testing::ElementsAre("x"));
  EXPECT_THAT(Error(yaml, {"name=a", "name+=b"}),
              HasSubstr("--config name: cannot append to \"a\"; expected a list"));
}

TEST(MergeTest, SplitsOverridesAtCommas_WhereListsAreExpected) {
  const auto config = Parse(
      kMinimal, {"labels=a,b", "environment.environment_variables=A=1,B=2", "description=a, b",
                 "entrypoint=echo 1,2", "hyperparameters.layers=64,1_28,x",
                 "hyperparameters.text='1,2'", "data.list=[1,2]"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->labels, ::testing::ElementsAre("a", "b"));
  EXPECT_THAT(config->environment.variables.cpu, ::testing::ElementsAre("A=1", "B=2"));
  EXPECT_EQ(config->description, "a, b");
  EXPECT_EQ(std::get<std::string>(config->entrypoint), "echo 1,2");
  EXPECT_EQ(
      ToValue(config->hyperparameters).ToJson(),
      R"({"layers":{"type":"const","val":[64,128,"x"]},"text":{"type":"const","val":"1,2"}})");
  EXPECT_EQ(config->data.ToJson(), R"({"list":[1,2]})");
}

TEST(MergeTest, KeepsNullOfHyperparameter_WhenOverridden) {
  const auto config =
      Parse(absl::StrCat(kMinimal, "hyperparameters: {a: 1}\n"), {"hyperparameters.a=null"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ToValue(config->hyperparameters).ToJson(), R"({"a":{"type":"const","val":null}})");
}

TEST(MergeTest, StoresOverridesInText) {
  const auto text = [](const char* yaml, const std::vector<ConfigLayer>& below,
                       const std::vector<std::string>& overrides) {
    return *GetTextToStore(*ConfigDocument::Parse(yaml, "c.yaml"), below, overrides);
  };
  EXPECT_EQ(text("# mine\nname: a\n", {}, {}), "# mine\nname: a\n");
  EXPECT_EQ(text("name: a\nlabels: [x]\n", {}, {"labels=[y]", "data.z=1", "name=null"}),
            R"({"data":{"z":1},"labels":["y"]})");
  EXPECT_EQ(text("", {{"template t", "debug: true"}}, {"name=a"}), R"({"debug":true,"name":"a"})");
}

TEST(MergeTest, ReplacesAndDisablesBuiltInLogPolicies) {
  const auto config = Parse(absl::StrCat(kMinimal, R"(log_policies:
- {name: CUDA OOM, pattern: null}
- {name: mine, pattern: oh no, action: cancel_retries}
)"));
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->log_policies.size(), 3u);
  EXPECT_EQ(config->log_policies[0], (LogPolicyConfig{"CUDA OOM", "", ""}));
  EXPECT_EQ(config->log_policies[1], BuiltInLogPolicies()[1]);
  EXPECT_EQ(config->log_policies[2], (LogPolicyConfig{"mine", "oh no", "cancel_retries"}));
}

}  // namespace
}  // namespace det::model
