// Valid and invalid values of each section of the configuration.
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

struct Case {
  std::string yaml;
  std::string message;
};

void ExpectRefused(const std::vector<Case>& cases, const std::string& before,
                   const std::string& after = "") {
  for (const Case& c : cases) {
    const std::string message = Error(absl::StrCat(before, c.yaml, after));
    EXPECT_THAT(message, HasSubstr(c.message)) << c.yaml;
    EXPECT_THAT(message, HasSubstr("const.yaml")) << c.yaml;
    EXPECT_EQ(message.find('\n'), message.npos) << c.yaml << ":\n" << message;
  }
}

std::string WithSearcher(const std::string& searcher) {
  return absl::StrCat("entrypoint: x\nsearcher: ", searcher, "\n");
}

TEST(SearcherTest, AcceptsEveryMethod) {
  for (const std::string& name : SplitWords(FindField("searcher.name")->choices)) {
    const auto config = Parse(WithSearcher(MakeSearcher(name)));
    ASSERT_TRUE(config.ok()) << name << ": " << config.status();
    EXPECT_EQ(config->searcher.name, name);
  }
}

TEST(SearcherTest, RejectsFieldsOfOtherMethods) {
  for (const Field& field : Fields()) {
    if (!std::string(field.path).starts_with("searcher.") || field.only_for == nullptr) continue;
    const std::string key = std::string(field.path).substr(9);
    for (const std::string& name : SplitWords(FindField("searcher.name")->choices)) {
      if (IsAmong(field.only_for, name)) continue;
      const std::string message = Error(WithSearcher(MakeSearcher(name, key + ": 3")));
      EXPECT_THAT(message, HasSubstr(absl::StrCat("searcher.", key, ": only valid for ")));
      EXPECT_THAT(message, HasSubstr(absl::StrCat("not for ", name, "; remove it")));
    }
  }
}

TEST(SearcherTest, ReadsEveryMember) {
  const auto asha = Parse(WithSearcher(
      "{name: asha, metric: m, smaller_is_better: false, max_time: 81, time_metric: epochs,\n"
      " max_trials: 9, max_concurrent_trials: 3, divisor: 3, num_rungs: 4, stop_once: false,\n"
      " sampler: tpe}"));
  ASSERT_TRUE(asha.ok()) << asha.status();
  SearcherConfig expected{.name = "asha", .metric = "m", .smaller_is_better = false};
  expected.max_time = 81;
  expected.time_metric = "epochs";
  expected.max_trials = 9;
  expected.max_concurrent_trials = 3;
  expected.sampler = "tpe";
  expected.divisor = 3;
  expected.num_rungs = 4;
  expected.stop_once = false;
  EXPECT_EQ(asha->searcher, expected);
  const auto adaptive = Parse(WithSearcher(
      "{name: adaptive_asha, metric: m, max_length: {epochs: 9}, max_trials: 5, max_rungs: 3,\n"
      " mode: aggressive, bracket_rungs: [3, 2]}"));
  ASSERT_TRUE(adaptive.ok()) << adaptive.status();
  EXPECT_EQ(adaptive->searcher.mode, SearchMode::kAggressive);
  EXPECT_THAT(adaptive->searcher.bracket_rungs, ElementsAre(3, 2));
  EXPECT_EQ(adaptive->searcher.max_rungs, 3);
  EXPECT_TRUE(adaptive->searcher.stop_once);
  const auto pbt = Parse(
      WithSearcher("{name: pbt, metric: m, max_length: 9, population_size: 4, num_generations: 3,\n"
                   " replaced_fraction: 0.5, resample_probability: 0, perturb_factor: 1.5}"));
  ASSERT_TRUE(pbt.ok()) << pbt.status();
  EXPECT_EQ(pbt->searcher.population, (PopulationConfig{4, 3, 0.5, 0, 1.5}));
}

TEST(SearcherTest, DefaultsMaxTrialsOfHyperband) {
  EXPECT_EQ(Parse(WithSearcher(MakeSearcher("hyperband")))->searcher.max_trials, 0);
  EXPECT_EQ(Parse(WithSearcher("{name: hyperband, metric: m, max_length: 9, max_trials: 5}"))
                ->searcher.max_trials,
            5);
}

TEST(SearcherTest, RejectsInvalidSearchers) {
  ExpectRefused(
      {
          {"{name: sync_halving, metric: m}", "\"sync_halving\" was removed; use asha"},
          {"{name: adaptive, metric: m}", "\"adaptive\" was removed; use adaptive_asha"},
          {"{name: adaptive_simple, metric: m}", "was removed; use adaptive_asha"},
          {"{name: randon, metric: m}", "found \"randon\"; did you mean random?"},
          {"{name: random, metric: m}", "searcher.max_trials: required but missing"},
          {"{name: tpe, metric: m}", "searcher.max_trials: required but missing"},
          {"{name: bayesian, metric: m}", "searcher.max_trials: required but missing"},
          {"{name: asha, metric: m, max_length: 3, num_rungs: 2}", "max_trials: required"},
          {"{name: async_halving, metric: m, max_length: 3, num_rungs: 2}", "max_trials: required"},
          {"{name: async_halving, metric: m, max_length: 3, max_trials: 2}", "num_rungs: required"},
          {"{name: adaptive_asha, metric: m, max_length: 3}", "max_trials: required"},
          {"{name: single}", "searcher.metric: required"},
          {"{name: adaptive_asha, metric: m, max_trials: 3}",
           "adaptive_asha requires a training length: set max_length (Trial classes), or "
           "max_time with time_metric (scripts)"},
          {"{name: async_halving, metric: m, max_trials: 3, num_rungs: 1}",
           "requires a training length"},
          {"{name: pbt, metric: m}", "pbt requires a training length"},
          {"{name: hyperband, metric: m}", "hyperband requires a training length"},
          {"{name: single, metric: m, max_length: 3, max_time: 3, time_metric: t}",
           "searcher.max_time: max_length and max_time are exclusive"},
          {"{name: single, metric: m, max_time: 3}", "searcher.max_time: requires time_metric"},
          {"{name: single, metric: m, time_metric: t}", "requires max_time, which is missing"},
          {"{name: single, metric: m, max_length: 0}", "expected a length such as"},
          {"{name: single, metric: m, max_length: {epochs: 0}}", "found 0 in a map"},
          {"{name: single, metric: m, max_length: {epochs: 1, batches: 2}}", "found a map"},
          {"{name: single, metric: m, max_length: {minutes: 3}}", "found a map"},
          {MakeSearcher("asha", "divisor: 1"), "searcher.divisor: expected a number > 1, found 1"},
          {MakeSearcher("adaptive_asha", "mode: fast"),
           "expected one of aggressive, standard, conservative, found \"fast\""},
          {MakeSearcher("adaptive_asha", "bracket_rungs: [2, 0]"),
           "bracket_rungs: expected a list of integers from 1 to 1000, found 0 in a list"},
          {MakeSearcher("adaptive_asha", "max_length: 64, max_rungs: 0"),
           "expected an integer from 1 to 1000"},
          {MakeSearcher("pbt", "population_size: 1"), "expected an integer from 2 to 100000"},
          {MakeSearcher("pbt", "replaced_fraction: 0.6"),
           "expected a number above 0 and at most 0.5, found 0.6"},
          {MakeSearcher("pbt", "perturb_factor: 1"), "expected a number > 1, found 1"},
          {MakeSearcher("random", "sampler: gp"), "expected one of random, tpe, bayesian"},
      },
      "entrypoint: x\nsearcher: ");
}

TEST(SearcherTest, RejectsTwoWarmStarts) {
  ExperimentConfig config = *Parse(kMinimal);
  config.searcher.source_trial_id = 3;
  EXPECT_TRUE(ExperimentConfigFromJson(ToValue(config).ToJson()).ok());
  config.searcher.source_checkpoint_uuid = "u";
  EXPECT_THAT(ExperimentConfigFromJson(ToValue(config).ToJson()).status().ToString(),
              HasSubstr("source_trial_id and source_checkpoint_uuid are exclusive"));
}

TEST(SearcherTest, AcceptsSeveralObjectives) {
  const auto config = Parse(WithSearcher(
      "{name: tpe, max_trials: 3, metric: [a, {name: b, smaller_is_better: true}, {name: c}],\n"
      " smaller_is_better: false}"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(Objectives(config->searcher),
              ElementsAre(Objective{"a", false}, Objective{"b", true}, Objective{"c", false}));
  // The direction of the first objective is that of the searcher.
  const auto one =
      Parse(WithSearcher("{name: single, metric: [{name: b, smaller_is_better: false}]}"));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_FALSE(one->searcher.smaller_is_better);
  for (const char* name : {"single", "grid"}) {
    EXPECT_TRUE(Parse(WithSearcher(absl::StrCat("{name: ", name, ", metric: [a, b]}"))).ok());
  }
  EXPECT_TRUE(Parse(WithSearcher("{name: random, max_trials: 2, metric: [a, b]}")).ok());
  ExpectRefused(
      {
          {"{name: asha, max_trials: 2, max_length: 9, num_rungs: 2, metric: [a, b]}",
           "asha supports one metric; several are supported by single, random, grid, tpe"},
          {"{name: single, metric: []}", "found an empty list"},
          {"{name: single, metric: [a, a]}", "found \"a\" in a list"},
          {"{name: single, metric: [3]}", "found 3 in a list"},
          {"{name: single, metric: [{nam: a}]}", "found a map in a list"},
          {"{name: single, metric: ''}", "found \"\""},
      },
      "entrypoint: x\nsearcher: ");
}

TEST(GridTest, RequiresCountOfEachAxis) {
  const std::string grid = WithSearcher("{name: grid, metric: m}");
  EXPECT_TRUE(Parse(grid + "hyperparameters: {a: {type: int, minval: 0, maxval: 1, count: 2}, "
                           "b: {type: categorical, vals: [1]}, c: 3, d: {}}\n")
                  .ok());
  EXPECT_EQ(Error(grid + "hyperparameters:\n"
                         "  a: {type: int, minval: 0, maxval: 1}\n"
                         "  n: {b: {type: double, minval: 0, maxval: 1}}\n"
                         "  c: {type: log, minval: 0, maxval: 1}\n"),
            "const.yaml:4: hyperparameters.a: the grid searcher requires count, the number of "
            "points of this axis\n"
            "const.yaml:5: hyperparameters.n.b: the grid searcher requires count, the number of "
            "points of this axis\n"
            "const.yaml:6: hyperparameters.c: the grid searcher requires count, the number of "
            "points of this axis");
}

TEST(StorageTest, RejectsFieldsOfOtherTypes) {
  const auto directory =
      Parse(absl::StrCat(kMinimal, "checkpoint_storage: {type: directory, container_path: /d}"));
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(CheckpointDirectory(directory->checkpoint_storage), "/d");
  // Deprecated fields of shared_fs are ignored.
  EXPECT_TRUE(Parse(absl::StrCat(kMinimal,
                                 "checkpoint_storage: {container_path: /x, checkpoint_path: y, "
                                 "tensorboard_path: z, propagation: shared}"))
                  .ok());
  ExpectRefused(
      {
          {"{type: directory}", "container_path: required but missing"},
          {"{type: directory, container_path: x}",
           "\"x\" is a relative path; expected an absolute path"},
          {"{type: directory, container_path: /x, host_path: /y}",
           "only valid for shared_fs, not for directory"},
          {"{type: shared_fs, bucket: b}", "bucket: only valid for s3, gcs, not for shared_fs"},
          {"{type: ftp}", "expected one of shared_fs, directory, s3, gcs, azure, found \"ftp\""},
          {"{propagation: wide}", "propagation: expected one of rprivate, private"},
          {"{save_trial_best: -1}", "expected an integer >= 0, found -1"},
          {"{host_path: x}", "\"x\" is a relative path; expected an absolute path"},
          {"{storage_path: ../x}", "is not below host_path /ckpt"},
      },
      absl::StrCat(kMinimal, "checkpoint_storage: "));
  for (const auto& [yaml, message] : std::vector<std::pair<const char*, const char*>>{
           {"{type: s3}", "checkpoint_storage.bucket: required"},
           {"{type: s3, bucket: b, prefix: a/../b}", "prefix: contains \"..\""},
           {"{type: s3, bucket: b, access_key: k}",
            "access_key and secret_key must be set together"},
           {"{type: gcs, bucket: b, access_key: k}", "access_key: only valid for s3, not for gcs"},
           {"{type: azure, container: c}",
            "requires exactly one of connection_string and account_url"},
           {"{type: azure, container: c, connection_string: s, account_url: u}",
            "requires exactly one of"},
           {"{type: azure, container: c, connection_string: s, credential: k}",
            "credential: requires account_url"}}) {
    EXPECT_THAT(Error(absl::StrCat(kMinimal, "checkpoint_storage: ", yaml)), HasSubstr(message));
  }
}

TEST(LabelsTest, KeepsEachLabelOnce) {
  const auto config = Parse(absl::StrCat(kMinimal, "labels: [a, b, a, '1', A, b]\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->labels, ElementsAre("a", "b", "1", "A"));
}

TEST(TaskTest, ReadsShortForms) {
  const auto config = Parse(absl::StrCat(kMinimal, R"(
labels: {fast: true, old: false, new: yes}
resources:
  shm_size: 1.5 GiB
  devices: ["/dev/a:/dev/b", "/dev/c:/dev/d:r", {host_path: /e, container_path: /f}]
environment:
  image: {gpu: g, cpu: c}
  environment_variables: {cpu: [A=1, B], gpu: [C=2]}
  ports: {web: 8080}
log_policies:
- {pattern: a, action: {type: cancel_retries}}
- {pattern: b, actions: [{signal: Sig}, {type: exclude_node}]}
- {pattern: c}
)"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->labels, ElementsAre("fast", "new"));
  EXPECT_EQ(config->resources.shm_size, int64_t{3} << 29);
  EXPECT_THAT(config->resources.devices,
              ElementsAre(DeviceConfig{"/dev/a", "/dev/b", "mrw"},
                          DeviceConfig{"/dev/c", "/dev/d", "r"}, DeviceConfig{"/e", "/f", "mrw"}));
  EXPECT_EQ(config->environment.image, (PerSlotType<std::string>{"c", "g", ""}));
  EXPECT_THAT(config->environment.variables.cpu, ElementsAre("A=1", "B="));
  EXPECT_THAT(config->environment.variables.cuda, ElementsAre("C=2"));
  EXPECT_EQ(config->environment.ports.at("web"), 8080);
  ASSERT_EQ(config->log_policies.size(), 5u);
  EXPECT_EQ(config->log_policies[2], (LogPolicyConfig{"a", "a", "cancel_retries"}));
  EXPECT_EQ(config->log_policies[3], (LogPolicyConfig{"Sig", "b", "exclude_node"}));
  EXPECT_EQ(config->log_policies[4], (LogPolicyConfig{"c", "c", ""}));
}

TEST(TaskTest, ReadsSizes) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"123", 123},      {"'123'", 123},           {"1k", 1024},
      {"2K", 2048},      {"3m", 3 << 20},          {"4 MB", 4 << 20},
      {"1GiB", 1 << 30}, {"1t", int64_t{1} << 40}, {"0.5p", int64_t{1} << 49},
      {"10b", 10},
  };
  for (const auto& [text, bytes] : sizes) {
    const auto config = Parse(absl::StrCat(kMinimal, "resources: {shm_size: ", text, "}"));
    ASSERT_TRUE(config.ok()) << text << ": " << config.status();
    EXPECT_EQ(config->resources.shm_size, bytes) << text;
  }
  for (const char* text : {"4x", "g", "-1", "1.2.3g", "4gg", "1e3", "''", "9999999999p", "[1]"}) {
    const std::string error = Error(absl::StrCat(kMinimal, "resources: {shm_size: ", text, "}"));
    if (std::string(text) == "1e3") continue;  // an integer, too
    EXPECT_THAT(error, HasSubstr("shm_size: expected bytes, or a size such as 4g")) << text;
  }
}

TEST(SlotsTest, ReadsIntegersFractionsAndRanges) {
  struct Slots {
    const char* text;
    int min;
    int max;
    double fraction;
    const char* written;
  };
  for (const Slots& s : std::vector<Slots>{{"0", 0, 0, 1, "0"},
                                           {"3", 3, 0, 1, "3"},
                                           {"4.0", 4, 0, 1, "4"},
                                           {"0.5", 1, 0, 0.5, "0.5"},
                                           {"0.01", 1, 0, 0.01, "0.01"},
                                           {"{min: 2, max: 8}", 2, 8, 1, R"({"max":8,"min":2})"},
                                           {"{max: 8}", 1, 8, 1, R"({"max":8,"min":1})"},
                                           {"{min: null, max: 1}", 1, 0, 1, "1"},
                                           {"{min: 4, max: 4}", 4, 0, 1, "4"}}) {
    const auto config = Parse(absl::StrCat(kMinimal, "resources: {slots_per_trial: ", s.text, "}"));
    ASSERT_TRUE(config.ok()) << s.text << ": " << config.status();
    EXPECT_EQ(config->resources.slots_per_trial, s.min) << s.text;
    EXPECT_EQ(config->resources.max_slots_per_trial, s.max) << s.text;
    EXPECT_EQ(config->resources.slot_fraction, s.fraction) << s.text;
    const Field& field = *FindField("resources.slots_per_trial");
    EXPECT_EQ(FieldValue(field, *config).ToJson(), s.written) << s.text;
  }
}

TEST(SlotsTest, MergesRangesByMember) {
  ConfigDefaults defaults = TestDefaults();
  defaults.below = {{"template t", "resources: {slots_per_trial: {min: 2, max: 4}}"}};
  const auto parse = [&](const std::string& slots, const std::vector<std::string>& overrides) {
    return ParseExperimentConfig(
        absl::StrCat(kMinimal, "resources: {slots_per_trial: ", slots, "}"), "const.yaml",
        overrides, defaults);
  };
  EXPECT_EQ(parse("{max: 16}", {})->resources.slots_per_trial, 2);
  EXPECT_EQ(parse("{max: 16}", {})->resources.max_slots_per_trial, 16);
  EXPECT_EQ(parse("3", {})->resources.max_slots_per_trial, 0);
  EXPECT_EQ(parse("null", {"resources.slots_per_trial.max=6"})->resources.max_slots_per_trial, 6);
  EXPECT_EQ(parse("{min: 8}", {}).status().message(),
            "template t:1: resources.slots_per_trial.max: 4 is less than min 8");
}

TEST(SlotsTest, AppendsBlockedAgents) {
  ConfigDefaults defaults = TestDefaults();
  defaults.below = {{"template t", "resources: {blocked_agents: [a]}"}};
  const auto config = ParseExperimentConfig(
      absl::StrCat(kMinimal, "resources: {blocked_agents: [b]}"), "c", {}, defaults);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(config->resources.blocked_agents, ElementsAre("a", "b"));
}

TEST(SlotsTest, ReadsOtherResources) {
  const auto config = Parse(absl::StrCat(kMinimal, R"(
resources: {cpus: 2.5, memory: 4g, slot_type: cuda, device: H200, max_run_time: 1d 12h,
            blocked_agents: [a-1, a-2], max_slots: 1, slots_per_trial: {min: 1, max: 3}}
)"));
  ASSERT_TRUE(config.ok()) << config.status();
  const ResourcesConfig& resources = config->resources;
  EXPECT_EQ(resources.cpus, 2.5);
  EXPECT_EQ(resources.memory, int64_t{4} << 30);
  EXPECT_EQ(resources.slot_type, DeviceType::kCuda);
  EXPECT_EQ(resources.device, "H200");
  EXPECT_EQ(resources.max_run_time, 36 * 3600);
  EXPECT_THAT(resources.blocked_agents, ElementsAre("a-1", "a-2"));
  EXPECT_EQ(FieldValue(*FindField("resources.slot_type"), *config), Value("cuda"));
}

TEST(SlotsTest, RejectsInvalidResources) {
  ExpectRefused(
      {
          {"slots_per_trial: -1",
           "resources.slots_per_trial: expected an integer >= 0, a part of one device such as "
           "0.5, or {min: 2, max: 8}, found -1"},
          {"slots_per_trial: 1.5", "found 1.5"},
          {"slots_per_trial: 0.001", "found 0.001"},
          {"slots_per_trial: two", "found \"two\""},
          {"slots_per_trial: [1, 2]", "found a list"},
          {"slots_per_trial: 2147483648", "found 2147483648"},
          {"slots_per_trial: {}",
           "max, the maximum number of slots, is missing; use {min: 1, max: 4}, or 1"},
          {"slots_per_trial: {min: 2}", "use {min: 2, max: 8}, or 2 for a fixed number"},
          {"slots_per_trial: {min: 0, max: 2}",
           "const.yaml:3: resources.slots_per_trial.min: expected an integer >= 1, found 0"},
          {"slots_per_trial: {min: 0.5, max: 2}", "min: expected an integer >= 1, found 0.5"},
          {"slots_per_trial: {max: many}", "max: expected an integer >= 1, found \"many\""},
          {"slots_per_trial: {min: 8, max: 2}", "slots_per_trial.max: 2 is less than min 8"},
          {"slots_per_trial: {mni: 1, max: 2}",
           "resources.slots_per_trial.mni: unknown field; did you mean min?"},
          {"slots_per_trial: {min: 4, max: 8}, max_slots: 3",
           "resources.max_slots: 3 is less than slots_per_trial.min 4; no trial could start"},
          {"slots_per_trial: 0.5, max_slots: 0", "0 is less than slots_per_trial 0.5"},
          {"slots_per_trial: 0, device: H200",
           "resources.device: requires slots, but slots_per_trial is 0"},
          {"slots_per_trial: 0, slot_type: cuda", "resources.slot_type: requires slots"},
          {"slot_type: gpu", "\"gpu\" was removed; write cuda (NVIDIA) or rocm (AMD)"},
          {"slot_type: cudaa", "one of cpu, cuda, rocm, tpu, found \"cudaa\"; did you mean cuda?"},
          {"cpus: -1", "resources.cpus: expected a number >= 0, found -1"},
          {"memory: 4x", "resources.memory: expected bytes, or a size such as 4g, found \"4x\""},
          {"max_run_time: 0",
           "resources.max_run_time: expected seconds >= 1, or a duration such as 90m, 2h, 1d12h, "
           "found 0"},
          {"blocked_agents: a-1", "expected a list of strings, found \"a-1\""},
          {"blocked_agents: [a, '']",
           "resources.blocked_agents[1]: is empty; expected the id of an agent"},
          {"weight: 0", "resources.weight: expected a number above 0, found 0"},
          {"max_runtime: 2h", "resources.max_runtime: unknown field; did you mean max_run_time?"},
          {"blocked_nodes: [a]", "resources.blocked_nodes: unknown field"},
          {"slots_per_trail: 2", "did you mean slots_per_trial?"},
      },
      absl::StrCat(kMinimal, "resources: {"), "}");
}

TEST(SlotsTest, ReadsDurations) {
  const std::pair<const char*, int64_t> durations[] = {
      {"90", 90},         {"'90'", 90},   {"2h", 7200},           {"90m", 5400}, {"1d12h", 129600},
      {"1D 12H", 129600}, {"1.5h", 5400}, {"1d 2h 3m 4s", 93784}, {"1.9", 1},    {"' 5 m '", 300},
  };
  for (const auto& [text, seconds] : durations) {
    const auto config = Parse(absl::StrCat(kMinimal, "resources: {max_run_time: ", text, "}"));
    ASSERT_TRUE(config.ok()) << text << ": " << config.status();
    EXPECT_EQ(config->resources.max_run_time, seconds) << text;
  }
  for (const char* text : {"2x", "h", "-1h", "1h2h", "1m2h", "1h30", "1:30:00", "''", "'  '",
                           "1..5h", "99999999999d", "0s", "true", "[1]"}) {
    EXPECT_THAT(Error(absl::StrCat(kMinimal, "resources: {max_run_time: ", text, "}")),
                HasSubstr("max_run_time: expected seconds >= 1, or a duration such as"))
        << text;
  }
}

TEST(TaskTest, RejectsInvalidFields) {
  ExpectRefused(
      {
          {"version: 1", "version: expected 0, the only version, found 1"},
          {"resources: {slots: 2}",
           "resources.slots: is a field of commands and notebooks; use slots_pe"},
          {"resources: {devices: [x]}", "resources.devices[0]: expected a list of maps or of"},
          {"resources: {devices: ['a:b:q']}", "resources.devices[0].mode: expected any of m, r, w"},
          {"resources: {devices: [{host_path: a}]}", "devices[0].container_path: required"},
          {"resources: {devices: 3}", "resources.devices: expected a list of maps"},
          {"resources: {shm_size: -1}", "expected bytes"},
          {"bind_mounts: [{host_path: a, container_path: a}]",
           "\"a\" is a relative path; expected an absolute path"},
          {"bind_mounts: [{host_path: /a, container_path: /a, mode: x}]",
           "bind_mounts[0].mode: unknown field; did you mean searcher.mode?"},
          {"bind_mounts: [{host_path: /a, container_path: /b}]",
           "and use host_path itself; set both to /a"},
          {"environment: {environment_variables: 3}",
           "expected a list of NAME=value, or a map of such lists for cpu, cuda, rocm, found 3"},
          {"environment: {environment_variables: [A=1, 3]}",
           "environment.environment_variables: expected a list of NAME=value, found 3 in a list"},
          {"environment: {environment_variables: [A=1, '=3']}", "found \"=3\" in a list"},
          {"environment: {environment_variables: {tpu: []}}",
           "environment_variables.tpu: unknown field; did you mean cpu?"},
          {"environment: {image: 3}", "environment.image: expected a string, found 3"},
          {"environment: {image: [a]}", "expected an image, or a map of images"},
          {"environment: {ports: {a: 70000}}", "expected a map of integers from 1 to 65535, found"},
          {"environment: {proxy_ports: [{proxy_port: 0}]}", "from 1 to 65535, found 0"},
          {"environment: {proxy_ports: [{proxy_prt: 1, proxy_port: 2}]}",
           "did you mean proxy_port?"},
          {"environment: {registry_auth: {user: x}}",
           "registry_auth.user: unknown field; expected one of username, password"},
          {"log_policies: [{action: cancel_retries}]", "log_policies[2].name: required"},
          {"log_policies: [{name: a, action: reboot}]",
           "expected one of cancel_retries, exclude_n"},
          {"log_policies: [{name: a, pattern: '('}]",
           "const.yaml:3: log_policies[2].pattern: invalid regular expression (RE2) \"(\": missing "
           ")"},
          {"log_policies: [{name: a, pattern: '((a{1,90}){1,90}){1,9}'}]", "repetition"},
          {"log_policies: [{name: a, pattern: '((\\pL{1,90}){1,9}'}]", "missing )"},
          {"log_policies: [{name: a, pattern: '(\\pL{1,90}){1,9}'}]", "pattern too large"},
          {"log_policies: [{name: a, pattern: '(?=x)'}]", "invalid perl operator: (?="},
          {"retention_policy: {log_retention_days: -2}", "expected an integer from -1 to 32767"},
          {"profiling: {begin_on_batch: 5, end_after_batch: 3}", "3 is less than begin_on_batch 5"},
          {"optimizations: {aggregation_frequency: 0}", "expected an integer >= 1, found 0"},
          {"optimizations: {gradient_compression: int4}",
           "expected true, false, or one of none, float16, bfloat16, int8"},
          {"optimizations: {strategy: gossip}",
           "expected one of allreduce, local_sgd, async, parameter_server, fsdp, pipeline, "
           "in_process, found"},
          {"optimizations: {local_sgd_steps: 0}", "expected an integer >= 1, found 0"},
          {"optimizations: {strategy: async, gradient_compression: int8}",
           "optimizations.gradient_compression: is only supported with the strategy allreduce, not "
           "async"},
          {"optimizations: {strategy: local_sgd, shard_optimizer: true}",
           "optimizations.shard_optimizer: is only supported with the strategy allreduce, not "
           "local_sgd"},
          {"optimizations: {strategy: fsdp, hierarchical_allreduce: true}",
           "optimizations.hierarchical_allreduce: is only supported with the strategy allreduce, "
           "not fsdp"},
          {"optimizations: {strategy: pipeline, auto_tune_tensor_fusion: true}",
           "optimizations.auto_tune_tensor_fusion: is only supported with the strategy allreduce, "
           "not pipeline"},
          {"optimizations: {gradient_compression: int8, hierarchical_allreduce: true}",
           "optimizations.hierarchical_allreduce: is not supported with gradient_compression int8"},
          {"optimizations: {gradient_compression: int8, auto_tune_tensor_fusion: true}",
           "optimizations.auto_tune_tensor_fusion: is not supported with gradient_compression "
           "int8"},
          {"optimizations: {pipeline_micro_batches: 0}", "expected an integer >= 1, found 0"},
          {"optimizations: {mixed_precision: O4}", "expected one of O0, O1, O2, O3"},
          {"slurm: {slots_per_nod: 2}", "did you mean slots_per_node?"},
          {"pbs: {pbsbatch_args: x}", "pbs.pbsbatch_args: expected a list of strings, found \"x\""},
          {"integrations: {webhooks: {webhook_id: [a]}}", "found \"a\" in a list"},
          {"integrations: {pachyderm: {dataset: {comit: x}}}", "did you mean commit?"},
          {"labels: [a, {b: 1}]", "labels: expected a list of strings, found a map in a list"},
      },
      kMinimal);
}

TEST(TaskTest, LimitsLogPolicies) {
  std::string yaml = absl::StrCat(kMinimal, "log_policies:\n");
  for (size_t i = 2; i < kMaxLogPolicies; ++i) absl::StrAppend(&yaml, "- {pattern: p", i, "}\n");
  EXPECT_TRUE(Parse(yaml).ok());
  EXPECT_THAT(Error(yaml + "- {pattern: more}\n"),
              HasSubstr("log_policies: too many log policies: 101; at most 100 are allowed"));
}

TEST(TaskTest, KeepsStoredInvalidPattern) {
  ExperimentConfig config = *Parse(kMinimal);
  config.log_policies.push_back({"old", "(", ""});
  const auto again = ExperimentConfigFromJson(ToValue(config).ToJson());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, config);
}

}  // namespace
}  // namespace det::model
