// What this cluster does not act on, is warned of, or could not keep up with (honour.cc).
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/parse/testing.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WarningsTest, WhatHasNoEffectIsSaidAndKept) {
  struct Warned {
    const char* yaml;
    const char* warning;
  };
  const Warned cases[] = {
      {"environment: {image: i}",
       "const.yaml:3: environment.image: kept, but without effect: tasks are processes of the "
       "agent's machine, not containers"},
      {"environment: {force_pull_image: true}", "const.yaml:3: environment.force_pull_image: kept"},
      {"environment: {registry_auth: {username: u}}", "environment.registry_auth: kept"},
      {"environment: {add_capabilities: [A]}", "environment.add_capabilities: kept"},
      {"environment: {drop_capabilities: [A]}", "environment.drop_capabilities: kept"},
      {"environment: {proxy_ports: [{proxy_port: 1}]}", "environment.proxy_ports: kept"},
      {"environment: {ports: {a: 1}}", "environment.ports: kept"},
      {"resources: {shm_size: 4g}", "resources.shm_size: kept"},
      {"resources: {devices: ['a:b']}", "resources.devices: kept"},
      {"debug: true", "debug: kept"},
      {"bind_mounts: [{host_path: /a, container_path: /a, read_only: true}]",
       "bind_mounts[0].read_only: kept"},
      {"profiling: {enabled: true}", "profiling.enabled: kept"},
      {"profiling: {begin_on_batch: 5}", "profiling.begin_on_batch: kept"},
      {"profiling: {end_after_batch: 5}", "profiling.end_after_batch: kept"},
      {"profiling: {sync_timings: false}", "profiling.sync_timings: kept"},
      {"optimizations: {tensor_fusion_cycle_time: 5}",
       "optimizations.tensor_fusion_cycle_time: kept"},
      {"slurm: {gpu_type: x}", "slurm: kept"},
      {"pbs: {slots_per_node: 2}", "pbs: kept"},
      {"integrations: {pachyderm: {pachd: {host: h}}}", "integrations.pachyderm: kept"},
  };
  for (const Warned& c : cases) {
    std::vector<std::string> warnings;
    const auto config = Parse(absl::StrCat(kMinimal, c.yaml), {}, &warnings);
    ASSERT_TRUE(config.ok()) << c.yaml << ": " << config.status();
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(c.warning))) << c.yaml;
    EXPECT_NE(*config, *Parse(kMinimal)) << c.yaml;
  }
}

TEST(WarningsTest, WhatNothingReadsIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"data_layer: {a: 1}", "const.yaml:3: data_layer: without effect: nothing reads it"},
      {"internal: x", "internal: without effect"},
      {"security: {a: 1}", "security: without effect"},
      {"tensorboard_storage: {type: s3}", "tensorboard_storage: without effect"},
      {"resources: {agent_label: a}", "resources.agent_label: without effect"},
      {"resources: {native_parallel: true}", "resources.native_parallel: kept, but without effect"},
      {"checkpoint_storage: {checkpoint_path: a}",
       "checkpoint_storage.checkpoint_path: without effect: storage_path is what is below"},
      {"checkpoint_storage: {tensorboard_path: a}", "tensorboard_path: without effect"},
      {"checkpoint_storage: {container_path: /a}",
       "checkpoint_storage.container_path: without effect: it means nothing to shared_fs"},
      {"checkpoint_storage: {propagation: rshared}",
       "checkpoint_storage.propagation: kept, but without effect: tasks are processes"},
      {"bind_mounts: [{host_path: /a, container_path: /a, propagation: shared}]",
       "bind_mounts[0].propagation: kept, but without effect"},
  };
  for (const auto& [yaml, warning] : cases) {
    std::vector<std::string> warnings;
    const auto config = Parse(absl::StrCat(kMinimal, yaml), {}, &warnings);
    ASSERT_TRUE(config.ok()) << yaml << ": " << config.status();
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(warning))) << yaml;
  }
}

TEST(WarningsTest, ACommandIsNotHeldToWhatTrialClassesRead) {
  const auto warned = [](const std::string& entrypoint, const std::string& more) {
    std::vector<std::string> warnings;
    const auto config =
        Parse(absl::StrCat("entrypoint: ", entrypoint,
                           "\nsearcher: {name: single, metric: m, max_length: 9}\n", more),
              {}, &warnings);
    EXPECT_TRUE(config.ok()) << config.status();
    return absl::StrJoin(warnings, "\n");
  };
  for (const char* field :
       {"min_validation_period: {batches: 1}", "min_checkpoint_period: {epochs: 1}",
        "checkpoint_policy: all", "perform_initial_validation: true", "records_per_epoch: 60000",
        "scheduling_unit: 10"}) {
    const std::string name = std::string(field).substr(0, std::string(field).find(':'));
    EXPECT_THAT(warned("python3 train.py", field),
                HasSubstr(absl::StrCat("const.yaml:3: ", name, ": kept, but without effect")));
    EXPECT_THAT(warned("[sh, -c, run]", field), HasSubstr(name));
    EXPECT_EQ(warned("net.cc:Net", field), "");
    EXPECT_EQ(warned("python3 -m det.launch.torch_distributed -- --trial model_def:Net", field),
              "");
  }
  EXPECT_EQ(warned("python3 train.py", "scheduling_unit: 100\ncheckpoint_policy: best"), "");
  const std::string profiling = "profiling: {enabled: true}";
  EXPECT_THAT(warned("python3 train.py", profiling),
              HasSubstr("profiling.enabled: kept, but without"));
  EXPECT_THAT(warned("net.cc:Net", profiling), ::testing::Not(HasSubstr("profiling")));
  EXPECT_THAT(warned("model_def:Net", profiling), ::testing::Not(HasSubstr("profiling")));
}

TEST(StrategiesTest, TrialsInCppHaveFewer) {
  const auto parsed = [](const std::string& entrypoint, const std::string& strategy) {
    return Parse(absl::StrCat("entrypoint: ", entrypoint,
                              "\nsearcher: {name: single, metric: m, max_length: 9}\n"
                              "optimizations: {strategy: ",
                              strategy, "}"))
        .status();
  };
  EXPECT_THAT(parsed("net.cc:Net", "fsdp").ToString(),
              HasSubstr("const.yaml:3: optimizations.strategy: fsdp is of Trials in Python"));
  EXPECT_TRUE(parsed("model_def:Net", "fsdp").ok());
  for (const char* strategy :
       {"allreduce", "local_sgd", "async", "parameter_server", "pipeline", "in_process"}) {
    EXPECT_TRUE(parsed("net.cc:Net", strategy).ok()) << strategy;
  }
}

TEST(WarningsTest, WhatIsOfAnotherStrategyIsNamed) {
  const auto warned = [](const std::string& optimizations) {
    std::vector<std::string> warnings;
    EXPECT_TRUE(
        Parse(absl::StrCat(kMinimal, "optimizations: {", optimizations, "}"), {}, &warnings).ok());
    return absl::StrJoin(warnings, "; ");
  };
  EXPECT_THAT(warned("local_sgd_steps: 4"),
              HasSubstr("optimizations.local_sgd_steps: kept, but without effect: it is for "
                        "optimizations.strategy local_sgd or async, which is allreduce"));
  EXPECT_THAT(warned("pipeline_micro_batches: 2, strategy: in_process"),
              HasSubstr("is for optimizations.strategy pipeline, which is in_process"));
  for (const char* fits :
       {"local_sgd_steps: 4, strategy: local_sgd", "local_sgd_steps: 4, strategy: async",
        "local_sgd_steps: 8", "pipeline_micro_batches: 2, strategy: pipeline"}) {
    EXPECT_EQ(warned(fits), "") << fits;
  }
}

TEST(WarningsTest, VariablesThatAreTheClustersAreNamed) {
  const auto warned = [](const std::string& variables) {
    std::vector<std::string> warnings;
    const auto config =
        Parse(absl::StrCat(kMinimal, "environment: {environment_variables: ", variables, "}"), {},
              &warnings);
    EXPECT_TRUE(config.ok()) << config.status();
    return absl::StrJoin(warnings, "\n");
  };
  EXPECT_THAT(
      warned("[A=1, DET_RANK=1, DET_MASTER, DET_RANK=2, DET_CXX=clang++]"),
      HasSubstr("const.yaml:3: environment.environment_variables: kept, but without effect: "
                "DET_MASTER, DET_RANK; names that begin with DET_ are the cluster's own, "
                "and of them only DET_CXX, "));
  EXPECT_THAT(warned("{cuda: [DET_USER=me]}"), HasSubstr("DET_USER;"));
  EXPECT_EQ(warned("[A=1, DET, MY_DET_RANK=1, DET_CXX=clang++, DET_OUTBOX_LIMIT=1]"), "");
}

TEST(WarningsTest, BatchesThatSlotsCannotShare) {
  struct Case {
    const char* slots;
    const char* size;
    const char* warning;  // "" for none
  };
  const Case cases[] = {
      {"4", "64", ""},
      {"4", "30", "30 records cannot be divided evenly among 4 slots"},
      {"0", "31", ""},
      {"1", "31", ""},
      {"2", "{type: categorical, vals: [8, 9]}", "9 records cannot"},
      {"2", "{type: categorical, vals: [8, 16]}", ""},
      {"2", "{type: int, minval: 8, maxval: 8}", ""},
      {"2", "{type: int, minval: 8, maxval: 64}", "9 records cannot"},
      {"2", "{type: const, val: 7}", "7 records cannot"},
      {"2", "{type: log, minval: 1, maxval: 3}", ""},
      {"2", "many", ""},
      {"{min: 1, max: 4}", "24", ""},
      {"{min: 1, max: 4}", "32", "32 records cannot be divided evenly among 3 slots"},
      {"{min: 2, max: 2000000000}", "720720", "among 17 slots"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> warnings;
    const auto config = Parse(absl::StrCat(kMinimal, "resources: {slots_per_trial: ", c.slots,
                                           "}\nhyperparameters: {global_batch_size: ", c.size, "}"),
                              {}, &warnings);
    ASSERT_TRUE(config.ok()) << config.status();
    if (*c.warning == '\0') {
      EXPECT_THAT(warnings, ElementsAre()) << c.slots << " " << c.size;
    } else {
      EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("hyperparameters.global_batch_size: "),
                                              HasSubstr(c.warning))));
    }
  }
}

TEST(RefusalsTest, ATrialClassMustBeToldHowLong) {
  const auto error = [](const std::string& entrypoint, const std::string& more) {
    return Error(absl::StrCat("entrypoint: ", entrypoint, "\nsearcher: {name: single, metric: m",
                              more, "}"));
  };
  for (const char* entrypoint : {"net.cc:Net", "model_def:Net"}) {
    EXPECT_EQ(error(entrypoint, ", max_length: {epochs: 1}"), "OK");
    for (const char* unit : {"batches", "records", "epochs"}) {
      EXPECT_EQ(error(entrypoint, absl::StrCat(", max_time: 3, time_metric: ", unit)), "OK");
    }
    EXPECT_THAT(error(entrypoint, ""),
                HasSubstr("const.yaml:2: searcher: the entrypoint is a Trial class, which trains "
                          "until it is told to stop: give max_length, for example {epochs: 3}"));
    EXPECT_THAT(error(entrypoint, ", max_time: 3, time_metric: hours"),
                HasSubstr("batches, records or epochs instead of hours"));
  }
  // One that is there and makes no sense is said once.
  EXPECT_THAT(error("net.cc:Net", ", max_length: {epoch: 3}"),
              ::testing::AllOf(HasSubstr("searcher.max_length: expected a length such as"),
                               ::testing::Not(HasSubstr("until it is told to stop"))));
  EXPECT_THAT(error("net.cc:Net", ", max_length: null"), HasSubstr("until it is told to stop"));
  EXPECT_EQ(error("python3 train.py", ""), "OK");
  EXPECT_EQ(error("python3 train.py", ", max_time: 3, time_metric: hours"), "OK");
}

TEST(WarningsTest, NothingIsSaidOfDefaults) {
  std::vector<std::string> warnings;
  const auto config = Parse(absl::StrCat(kMinimal, R"(
version: 0
security: null
resources: {agent_label: null, native_parallel: false, devices: [], shm_size: null}
environment: {pod_spec: {}, image: null, force_pull_image: false, proxy_ports: []}
bind_mounts: [{host_path: /data, container_path: /data}]
optimizations: {aggregation_frequency: 1, mixed_precision: O0}
profiling: {enabled: false}
slurm: {}
integrations: null
)"),
                            {}, &warnings);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(warnings, ElementsAre());
}

TEST(WarningsTest, NothingIsSaidOfATrialClass) {
  for (const char* entrypoint : {"model_def:MNistTrial", "net.cc:MNistTrial"}) {
    std::vector<std::string> warnings;
    const auto config =
        Parse(absl::StrCat("entrypoint: ", entrypoint,
                           "\nhyperparameters: {global_batch_size: 8}\n"
                           "searcher: {name: single, metric: m, max_length: {epochs: 1}}"),
              {}, &warnings);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_THAT(warnings, ElementsAre()) << entrypoint;
  }
}

}  // namespace
}  // namespace det::model
