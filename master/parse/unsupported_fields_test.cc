// Warnings and errors about unsupported fields (unsupported_fields.cc).
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

TEST(WarningsTest, WarnsAboutUnsupportedFields) {
  struct Warned {
    const char* yaml;
    const char* warning;
  };
  const Warned cases[] = {
      {"environment: {image: i}",
       "const.yaml:3: environment.image: ignored: tasks run as processes on the "
       "agent's machine, not in containers"},
      {"environment: {force_pull_image: true}",
       "const.yaml:3: environment.force_pull_image: ignored"},
      {"environment: {registry_auth: {username: u}}", "environment.registry_auth: ignored"},
      {"environment: {add_capabilities: [A]}", "environment.add_capabilities: ignored"},
      {"environment: {drop_capabilities: [A]}", "environment.drop_capabilities: ignored"},
      {"environment: {ports: {a: 1}}", "environment.ports: ignored"},
      {"resources: {shm_size: 4g}", "resources.shm_size: ignored"},
      {"resources: {devices: ['a:b']}", "resources.devices: ignored"},
      {"debug: true", "debug: ignored"},
      {"bind_mounts: [{host_path: /a, container_path: /a, read_only: true}]",
       "bind_mounts[0].read_only: ignored"},
      {"profiling: {enabled: true}", "profiling.enabled: ignored"},
      {"profiling: {begin_on_batch: 5}", "profiling.begin_on_batch: ignored"},
      {"profiling: {end_after_batch: 5}", "profiling.end_after_batch: ignored"},
      {"profiling: {sync_timings: false}", "profiling.sync_timings: ignored"},
      {"optimizations: {tensor_fusion_cycle_time: 5}",
       "optimizations.tensor_fusion_cycle_time: ignored"},
      {"slurm: {gpu_type: x}", "slurm: ignored"},
      {"pbs: {slots_per_node: 2}", "pbs: ignored"},
      {"integrations: {pachyderm: {pachd: {host: h}}}", "integrations.pachyderm: ignored"},
  };
  for (const Warned& c : cases) {
    std::vector<std::string> warnings;
    const auto config = Parse(absl::StrCat(kMinimal, c.yaml), {}, &warnings);
    ASSERT_TRUE(config.ok()) << c.yaml << ": " << config.status();
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(c.warning))) << c.yaml;
    EXPECT_NE(*config, *Parse(kMinimal)) << c.yaml;
  }
}

TEST(WarningsTest, WarnsAboutDeprecatedFields) {
  const std::pair<const char*, const char*> cases[] = {
      {"data_layer: {a: 1}", "const.yaml:3: data_layer: ignored: the field is deprecated"},
      {"internal: x", "internal: ignored"},
      {"security: {a: 1}", "security: ignored"},
      {"tensorboard_storage: {type: s3}", "tensorboard_storage: ignored"},
      {"resources: {agent_label: a}", "resources.agent_label: ignored"},
      {"resources: {native_parallel: true}", "resources.native_parallel: ignored"},
      {"checkpoint_storage: {checkpoint_path: a}",
       "checkpoint_storage.checkpoint_path: ignored: use storage_path for a directory below"},
      {"checkpoint_storage: {tensorboard_path: a}", "tensorboard_path: ignored"},
      {"checkpoint_storage: {container_path: /a}",
       "checkpoint_storage.container_path: ignored: it does not apply to shared_fs"},
      {"checkpoint_storage: {propagation: rshared}",
       "checkpoint_storage.propagation: ignored: tasks run as processes"},
      {"bind_mounts: [{host_path: /a, container_path: /a, propagation: shared}]",
       "bind_mounts[0].propagation: ignored"},
  };
  for (const auto& [yaml, warning] : cases) {
    std::vector<std::string> warnings;
    const auto config = Parse(absl::StrCat(kMinimal, yaml), {}, &warnings);
    ASSERT_TRUE(config.ok()) << yaml << ": " << config.status();
    EXPECT_THAT(warnings, ElementsAre(HasSubstr(warning))) << yaml;
  }
}

TEST(WarningsTest, WarnsAboutTrialClassFields_WithCommand) {
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
                HasSubstr(absl::StrCat("const.yaml:3: ", name, ": ignored")));
    EXPECT_THAT(warned("[sh, -c, run]", field), HasSubstr(name));
    EXPECT_EQ(warned("net.cc:Net", field), "");
    EXPECT_EQ(warned("python3 -m det.launch.torch_distributed -- --trial model_def:Net", field),
              "");
  }
  EXPECT_EQ(warned("python3 train.py", "scheduling_unit: 100\ncheckpoint_policy: best"), "");
  const std::string profiling = "profiling: {enabled: true}";
  EXPECT_THAT(warned("python3 train.py", profiling), HasSubstr("profiling.enabled: ignored: only"));
  EXPECT_THAT(warned("net.cc:Net", profiling), ::testing::Not(HasSubstr("profiling")));
  EXPECT_THAT(warned("model_def:Net", profiling), ::testing::Not(HasSubstr("profiling")));
}

TEST(StrategiesTest, RejectsFsdp_WithCppTrial) {
  const auto parsed = [](const std::string& entrypoint, const std::string& strategy) {
    return Parse(absl::StrCat("entrypoint: ", entrypoint,
                              "\nsearcher: {name: single, metric: m, max_length: 9}\n"
                              "optimizations: {strategy: ",
                              strategy, "}"))
        .status();
  };
  EXPECT_THAT(
      parsed("net.cc:Net", "fsdp").ToString(),
      HasSubstr("const.yaml:3: optimizations.strategy: fsdp is only supported by Python Trials"));
  EXPECT_TRUE(parsed("model_def:Net", "fsdp").ok());
  for (const char* strategy :
       {"allreduce", "local_sgd", "async", "parameter_server", "pipeline", "in_process"}) {
    EXPECT_TRUE(parsed("net.cc:Net", strategy).ok()) << strategy;
  }
}

TEST(WarningsTest, WarnsAboutOptionsOfOtherStrategies) {
  const auto warned = [](const std::string& optimizations) {
    std::vector<std::string> warnings;
    EXPECT_TRUE(
        Parse(absl::StrCat(kMinimal, "optimizations: {", optimizations, "}"), {}, &warnings).ok());
    return absl::StrJoin(warnings, "; ");
  };
  EXPECT_THAT(warned("local_sgd_steps: 4"),
              HasSubstr("optimizations.local_sgd_steps: ignored: it applies to "
                        "optimizations.strategy local_sgd or async, not allreduce"));
  EXPECT_THAT(warned("pipeline_micro_batches: 2, strategy: in_process"),
              HasSubstr("applies to optimizations.strategy pipeline, not in_process"));
  for (const char* fits :
       {"local_sgd_steps: 4, strategy: local_sgd", "local_sgd_steps: 4, strategy: async",
        "local_sgd_steps: 8", "pipeline_micro_batches: 2, strategy: pipeline"}) {
    EXPECT_EQ(warned(fits), "") << fits;
  }
}

TEST(WarningsTest, WarnsAboutReservedVariables) {
  const auto warned = [](const std::string& variables) {
    std::vector<std::string> warnings;
    const auto config =
        Parse(absl::StrCat(kMinimal, "environment: {environment_variables: ", variables, "}"), {},
              &warnings);
    EXPECT_TRUE(config.ok()) << config.status();
    return absl::StrJoin(warnings, "\n");
  };
  EXPECT_THAT(warned("[A=1, DET_RANK=1, DET_MASTER, DET_RANK=2, DET_CXX=clang++]"),
              HasSubstr("const.yaml:3: environment.environment_variables: ignored: DET_MASTER, "
                        "DET_RANK; names that begin with DET_ are reserved, except DET_CXX, "));
  EXPECT_THAT(warned("{cuda: [DET_USER=me]}"), HasSubstr("DET_USER;"));
  EXPECT_EQ(warned("[A=1, DET, MY_DET_RANK=1, DET_CXX=clang++, DET_OUTBOX_LIMIT=1]"), "");
  EXPECT_EQ(warned("[DET_LOG_LEVEL=WARNING, DET_PYTHON_EXECUTABLE=/opt/conda/bin/python3]"), "");
}

TEST(WarningsTest, WarnsAboutIndivisibleBatchSize) {
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

TEST(RefusalsTest, RequiresLength_WithTrialClass) {
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
                HasSubstr("const.yaml:2: searcher: a Trial class requires a training length: set "
                          "max_length, for example {epochs: 3}"));
    EXPECT_THAT(error(entrypoint, ", max_time: 3, time_metric: hours"),
                HasSubstr("batches, records or epochs instead of hours"));
  }
  // An invalid length is reported once.
  EXPECT_THAT(error("net.cc:Net", ", max_length: {epoch: 3}"),
              ::testing::AllOf(HasSubstr("searcher.max_length: expected a length such as"),
                               ::testing::Not(HasSubstr("requires a training length"))));
  EXPECT_THAT(error("net.cc:Net", ", max_length: null"), HasSubstr("requires a training length"));
  EXPECT_EQ(error("python3 train.py", ""), "OK");
  EXPECT_EQ(error("python3 train.py", ", max_time: 3, time_metric: hours"), "OK");
}

TEST(WarningsTest, DoesNotWarnAboutDefaults) {
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

TEST(WarningsTest, DoesNotWarnAboutTrialClass) {
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

struct OldFieldCase {
  const char* yaml;
  const char* problem;
};

TEST(OldFieldsTest, NamesFieldsOfToday) {
  const OldFieldCase cases[] = {
      {"max_steps: 10", "max_steps: was replaced: a step was batches_per_step batches (100 by"},
      {"batches_per_step: 50", "batches_per_step: was replaced: lengths are counted in batches"},
      {"max_epochs: 3", "max_epochs: was replaced: write searcher.max_length: {epochs: N}"},
      {"searcher: {name: single, metric: m, max_epochs: 3}", "searcher.max_epochs: was replaced"},
      {"searcher: {name: single, metric: m, max_steps: 3}", "searcher.max_steps: was replaced"},
      {"searcher: {name: adaptive_asha, metric: m, target_trial_steps: 3, step_budget: 9}",
       "searcher.step_budget: was replaced: a search has a number of trials"},
      {"searcher: {name: single, metric: m, max_length: {steps: 3}}",
       "searcher.max_length: steps were replaced"},
      {"min_validation_period: {steps: 3}", "min_validation_period: steps were replaced"},
      {"searcher: {name: pbt, metric: m, num_rounds: 3, length_per_round: {batches: 4}}",
       "searcher.num_rounds: was replaced: write searcher.num_generations"},
      {"searcher: {name: pbt, metric: m, explore_function: {perturb_factor: 0.2}}",
       "searcher.explore_function: was replaced"},
      {"resources: {gpus: 3}", "resources.gpus: was replaced: write resources.slots_per_trial"},
      {"environment: {runtime_packages: [x]}", "environment.runtime_packages: was replaced"},
      {"batch_size: 3", "batch_size: was replaced: write hyperparameters.global_batch_size"},
      {"checkpoint_freq: 3", "write min_checkpoint_period: {batches: N}"},
      {"checkpoint_storage: {type: hdfs, hdfs_url: x}",
       "checkpoint_storage.hdfs_url: was replaced"},
      {"slots_per_trial: 3", "unknown field; did you mean resources.slots_per_trial?"},
      {"max_length: 3", "unknown field; did you mean searcher.max_length?"},
  };
  for (const OldFieldCase& each : cases) {
    EXPECT_THAT(Error(absl::StrCat("entrypoint: 'true'\n", each.yaml)), HasSubstr(each.problem));
  }
  // Names that users choose themselves stay what they are.
  const auto config = Parse(absl::StrCat(kMinimal,
                                         "hyperparameters: {max_steps: 1, epochs: 3}\n"
                                         "data: {batch_size: 7}\n"));
  EXPECT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(
      Error(kMinimal, {"max_epochs=3"}),
      "--config max_epochs: max_epochs: was replaced: write searcher.max_length: {epochs: N}");
}

}  // namespace
}  // namespace det::model
