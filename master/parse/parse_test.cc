#include "master/parse/parse.h"

#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "master/parse/testing.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::model {
namespace {

using ::testing::HasSubstr;

TEST(ParseTest, AppliesDefaults) {
  const auto config = Parse(kMinimal);
  ASSERT_TRUE(config.ok()) << config.status();
  ExperimentConfig expected;
  expected.name = "Experiment";
  expected.entrypoint = "true";
  expected.searcher.name = "single";
  expected.searcher.metric = "loss";
  expected.checkpoint_storage.host_path = "/ckpt";
  expected.experiment_seed = 7;
  EXPECT_EQ(*config, expected);
}

TEST(ParseTest, ReadsEveryField) {
  const auto config = Parse(R"(
name: all
description: every field
labels: [a, b]
data: {url: "x", nested: {n: 1, none: null}}
workspace: w
project: p
entrypoint: [python3, train.py]
hyperparameters:
  bare: 3
  list: [1, two]
  null_value: null
  c: {type: const, val: {a: 1}}
  i: {type: int, minval: -1, maxval: 4, count: 2}
  d: {type: double, minval: 0, maxval: 1.5}
  l: {type: log, base: 2, minval: -4, maxval: -1}
  cat: {type: categorical, vals: [1, x, null]}
  deep: {inner: {type: int, minval: 1, maxval: 1}, empty: {}}
searcher:
  name: random
  metric: accuracy
  smaller_is_better: false
  max_length: {epochs: 3}
  max_trials: 8
  max_concurrent_trials: 0
resources:
  slots_per_trial: 2
  max_slots: 4
  weight: 2
  priority: 10
  resource_pool: gpu
  is_single_node: true
  agent_label: ignored
max_restarts: 0
min_validation_period: {records: 1000}
min_checkpoint_period: 50
checkpoint_policy: all
perform_initial_validation: true
records_per_epoch: 60000
scheduling_unit: 1
checkpoint_storage:
  type: shared_fs
  host_path: /nfs
  storage_path: team/../mine/./x
  save_experiment_best: 1
  save_trial_best: 2
  save_trial_latest: 3
environment: {environment_variables: [A=1, "B=x=y", C]}
reproducibility: {experiment_seed: 4294967295}
preemption_timeout: 1
debug: true
data_layer: {anything: true}
)");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config->data.ToJson(), R"({"nested":{"n":1,"none":null},"url":"x"})");
  EXPECT_EQ(config->entrypoint, Entrypoint(std::vector<std::string>{"python3", "train.py"}));
  const SearchSpace space = {
      {"bare", {ConstHparam{3}}},
      {"list", {ConstHparam{Value::List{1, "two"}}}},
      {"null_value", {ConstHparam{}}},
      {"c", {ConstHparam{Value::Object{{"a", 1}}}}},
      {"i", {IntHparam{-1, 4, 2}}},
      {"d", {DoubleHparam{0, 1.5, {}}}},
      {"l", {LogHparam{2, -4, -1, {}}}},
      {"cat", {CategoricalHparam{{1, "x", Value()}}}},
      {"deep", {NestedHparam{{{"inner", {IntHparam{1, 1, {}}}}, {"empty", {NestedHparam{}}}}}}},
  };
  EXPECT_EQ(config->hyperparameters, space);
  EXPECT_EQ(config->searcher.max_length, (Length{Length::Unit::kEpochs, 3}));
  EXPECT_EQ(config->searcher.max_trials, 8);
  EXPECT_EQ(config->searcher.max_concurrent_trials, 0);
  const ResourcesConfig resources{.slots_per_trial = 2,
                                  .max_slots = 4,
                                  .weight = 2.0,
                                  .priority = 10,
                                  .resource_pool = "gpu",
                                  .is_single_node = true};
  EXPECT_EQ(config->resources, resources);
  EXPECT_EQ(config->min_validation_period, (Length{Length::Unit::kRecords, 1000}));
  EXPECT_EQ(config->min_checkpoint_period, (Length{Length::Unit::kBatches, 50}));
  EXPECT_EQ(config->checkpoint_policy, CheckpointPolicy::kAll);
  EXPECT_EQ(config->checkpoint_storage, (CheckpointStorageConfig{.host_path = "/nfs",
                                                                 .storage_path = "mine/x",
                                                                 .save_experiment_best = 1,
                                                                 .save_trial_best = 2,
                                                                 .save_trial_latest = 3}));
  const std::vector<std::string> variables = {"A=1", "B=x=y", "C="};
  EXPECT_EQ(config->environment.variables,
            (PerSlotType<std::vector<std::string>>{variables, variables, variables}));
  EXPECT_EQ(config->experiment_seed, 4294967295u);
  EXPECT_TRUE(config->debug);
}

TEST(ParseTest, AcceptsJson) {
  EXPECT_TRUE(Parse(R"({"entrypoint": "x", "searcher": {"name": "single", "metric": "m"}})").ok());
}

TEST(ParseTest, ReportsAllProblemsInOrder) {
  EXPECT_EQ(
      Error("name: 3\n"
            "resources:\n"
            "  slots_per_trial: two\n"
            "  slot_per_trial: 2\n"
            "searcher:\n"
            "  name: random\n"
            "  max_trails: 5\n"
            "  smaller_is_better: yes\n"
            "checkpoint_policy: some\n"),
      "const.yaml: entrypoint: required but missing. A Trial class, as file.cc:Class "
      "in C++ or module:Class in Python; a command for sh -c; or a list of strings as argv.\n"
      "const.yaml:1: name: expected a string, found 3\n"
      "const.yaml:3: resources.slots_per_trial: expected an integer >= 0, a part of one device "
      "such as 0.5, or {min: 2, max: 8}, found \"two\"\n"
      "const.yaml:4: resources.slot_per_trial: unknown field; did you mean slots_per_trial?\n"
      "const.yaml:6: searcher.metric: required but missing. Validation metric to "
      "optimize, or a list of names or of {name, smaller_is_better} for several objectives; the "
      "first objective determines the best checkpoints.\n"
      "const.yaml:6: searcher.max_trials: required but missing. Number of trials; by "
      "default hyperband fills its brackets.\n"
      "const.yaml:7: searcher.max_trails: unknown field; did you mean max_trials?\n"
      "const.yaml:8: searcher.smaller_is_better: expected true or false, found \"yes\"\n"
      "const.yaml:9: checkpoint_policy: expected one of best, all, none, found \"some\"");
}

struct Bad {
  std::string yaml;  // after kMinimal
  std::string message;
};

TEST(ParseTest, RejectsInvalidFields) {
  const Bad cases[] = {
      {"max_restarts: -1", "max_restarts: expected an integer >= 0, found -1"},
      {"max_restarts: 1.5", "max_restarts: expected an integer >= 0, found 1.5"},
      {"max_restarts: 3000000000", "max_restarts: expected an integer >= 0, found 3000000000"},
      {"resources: {priority: 100}", "expected an integer from 1 to 99, found 100"},
      {"resources: {max_slots: 1, slots_per_trial: 2}", "no trial could start"},
      {"resources: [1]", "resources: expected a map, found a list"},
      {"resources: {weight: -0.5}", "expected a number >= 0, found -0.5"},
      {"slots_per_trial: 2", "unknown field; did you mean resources.slots_per_trial?"},
      {"xyzzy: 2", "xyzzy: unknown field; expected one of name, description, labels"},
      {"a.b: 2", "a.b: unknown field"},
      {"labels: [1]", "labels: expected a list of strings, found 1 in a list"},
      {"labels: [[x]]", "labels: expected a list of strings, found a list in a list"},
      {"min_validation_period: {batches: 1, epochs: 2}", "expected a length such as"},
      {"min_validation_period: {seconds: 1}", "expected a length such as"},
      {"environment: {environment_variables: [=x]}", "expected a list of NAME=value"},
      {"workspace: w", "workspace: workspace and project must be set together"},
      {"checkpoint_storage: {host_path: tmp}",
       "\"tmp\" is a relative path; expected an absolute path"},
      {"checkpoint_storage: {storage_path: a/../../b}", "is not below host_path /ckpt"},
      {"checkpoint_storage: {storage_path: /elsewhere}", "is not below host_path /ckpt"},
      {"hyperparameters: {a: {type: int, minval: 2, maxval: 1}}",
       "hyperparameters.a: minval 2 is greater than maxval 1"},
      {"hyperparameters: {a: {type: int, minval: 0.5, maxval: 1}}",
       "hyperparameters.a.minval: expected an integer, found 0.5"},
      {"hyperparameters: {a: {type: int, maxval: 1}}",
       "hyperparameters.a.minval: required but missing; expected an integer"},
      {"hyperparameters: {a: {b: {type: float, minval: 0, maxval: 1}}}",
       "hyperparameters.a.b.type: expected one of const, int, double, log, categorical, found "
       "\"float\""},
      {"hyperparameters: {a: {type: categorical, vals: []}}",
       "hyperparameters.a.vals: expected a list with at least one value, found an empty list"},
      {"hyperparameters: {a: {type: log, minval: 1, maxval: 400}}",
       "hyperparameters.a.maxval: base 10 to the power of 400 is greater than every number; minval "
       "and maxval are exponents"},
      {"hyperparameters: {a: {type: log, base: 0.1, minval: -400, maxval: 1}}",
       "hyperparameters.a.minval: base 0.1 to the power of -400 is greater than every number"},
      {"hyperparameters: {a: {type: log, base: 0, minval: 0, maxval: 1}}",
       "hyperparameters.a.base: expected a number > 0, found 0"},
      {"hyperparameters: {a: {type: int, minval: 0, maxval: 1, count: 0}}",
       "hyperparameters.a.count: expected an integer >= 1, found 0"},
      {"hyperparameters: {a: {type: const, val: 1, vals: 2}}",
       "hyperparameters.a.vals: unknown field; did you mean val?"},
      {"hyperparameters: 3", "hyperparameters: expected a map, found 3"},
  };
  for (const Bad& bad : cases) {
    const std::string message = Error(absl::StrCat(kMinimal, bad.yaml));
    EXPECT_THAT(message, HasSubstr(bad.message)) << bad.yaml;
    EXPECT_THAT(message, HasSubstr("const.yaml:3: ")) << bad.yaml;
    EXPECT_EQ(message.find('\n'), std::string::npos) << bad.yaml << ":\n" << message;
  }
}

TEST(ParseTest, RejectsInvalidSearchersAndEntrypoints) {
  const Bad cases[] = {
      {"entrypoint: x\nsearcher: {name: best, metric: m}",
       "const.yaml:2: searcher.name: expected one of single, random, grid, adaptive_asha, "
       "async_halving, asha, hyperband, tpe, bayesian, pbt, custom, found \"best\""},
      {"entrypoint: x\nsearcher: {name: single, metric: m, max_trials: 3}",
       "const.yaml:2: searcher.max_trials: only valid for random, tpe, bayesian, asha, "
       "async_halving, "
       "adaptive_asha, hyperband, not for single; remove it"},
      {"entrypoint: x\nsearcher: {name: random, metric: m, max_trials: 0}",
       "searcher.max_trials: expected an integer from 1 to 1000000, found 0"},
      {"entrypoint: x\nsearcher: single",
       "const.yaml:2: searcher: expected a map, found \"single\""},
      {"entrypoint: x", "const.yaml: searcher: required but missing"},
      {"entrypoint: x\nsearcher: null", "const.yaml: searcher: required but missing"},
      {"entrypoint: ../a.cc:T\nsearcher: {name: single, metric: m, max_length: 1}",
       "const.yaml:1: entrypoint: \"../a.cc\" is outside of the context directory"},
      {"entrypoint: /a.cc:T\nsearcher: {name: single, metric: m, max_length: 1}",
       "is outside of the context directory"},
      {"entrypoint: ' '\nsearcher: {name: single, metric: m}",
       "is empty; expected a command or a Trial class"},
      {"entrypoint: []\nsearcher: {name: single, metric: m}",
       "is empty; expected a program to run"},
      {"entrypoint: 5\nsearcher: {name: single, metric: m}",
       "const.yaml:1: entrypoint: expected a string or a list of strings, found 5"},
      {"entrypoint: {a: b}\nsearcher: {name: single, metric: m}",
       "entrypoint: expected a string or a list of strings, found a map"},
  };
  for (const Bad& bad : cases) {
    const std::string message = Error(bad.yaml);
    EXPECT_THAT(message, HasSubstr(bad.message)) << bad.yaml;
    EXPECT_EQ(message.find('\n'), std::string::npos) << bad.yaml << ":\n" << message;
  }
}

TEST(ParseTest, RejectsInvalidYaml) {
  const Bad cases[] = {
      {"a: 1\nb: [1, 2\nc: 3\n", "const.yaml:"},
      {"a: 1\n  b: 2\n", "const.yaml:2: not valid YAML: "},
      {"", "const.yaml: the configuration is empty"},
      {"# only words\n", "const.yaml: the configuration is empty"},
      {"null", "const.yaml: the configuration is empty"},
      {"- a\n", "const.yaml: expected a map such as"},
      {"a: 1\n---\nb: 2\n", "const.yaml:2: a second YAML document starts here"},
      {",", "const.yaml:1: a second YAML document starts here"},
      {",]\nx", "const.yaml:"},
      {"a: 1\nb: 2\na: 3\n", "const.yaml:3: duplicate key \"a\", first at const.yaml:1"},
      {"a: \xff\n", "const.yaml:1: not UTF-8 text"},
      {"a: 1\nb: \"\\0\"\n", "const.yaml:2: a value contains invalid characters"},
      {"? [a]\n: b\n", "a key must be plain text"},
      {"a: &x [*x]\n", "const.yaml"},
      {"a: .nan\n", "const.yaml:1: .nan is not a finite number"},
      {"a: 1e999\n", "const.yaml:1: 1e999 is not a finite number"},
      {"a: !!binary aGk=\n", "is not supported"},
      {std::string(50'000, '['), "const.yaml"},
      {std::string(150, '[') + std::string(150, ']'), "nested deeper"},
      {"data: " + std::string(26, '[') + std::string(26, ']'), "nested deeper than 25 levels"},
  };
  for (const Bad& bad : cases) {
    EXPECT_THAT(Error(bad.yaml), HasSubstr(bad.message)) << bad.yaml.substr(0, 40);
  }
}

TEST(ParseTest, RejectsExponentialAliases) {
  std::string yaml = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string item = absl::StrCat("*a", i - 1);
    absl::StrAppend(&yaml, "a", i, ": &a", i, " [",
                    absl::StrJoin(std::vector<std::string>(10, item), ","), "]\n");
  }
  EXPECT_THAT(Error(yaml), HasSubstr("more than 100000 values"));
}

TEST(ParseTest, ResolvesAnchorsAndMergeKeys) {
  const auto config = Parse(absl::StrCat(kMinimal, R"(
hyperparameters:
  base: &base {lr: 0.1, depth: 2}
  big: {<<: *base, depth: 9}
)"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ToValue(config->hyperparameters).Find("big")->ToJson(),
            R"({"depth":{"type":"const","val":9},"lr":{"type":"const","val":0.1}})");
}

TEST(ParseTest, ReadsPlainScalarsAsExistingClients) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "1"},
      {"-7", "-7"},
      {"+7", "7"},
      {"0x1F", "31"},
      {"0o17", "15"},
      {"1e-3", "0.001"},
      {"1.", "1.0"},
      {".5", "0.5"},
      {"true", "true"},
      {"FALSE", "false"},
      {"yes", "\"yes\""},
      {"~", "null"},
      {"'1'", "\"1\""},
      {"1.2.3", "\"1.2.3\""},
      {"1_000", "1000"},
      {"-", "\"-\""},
      {"0x", "\"0x\""},
      {"2020-01-01", "\"2020-01-01\""},
      {"!!str 5", "\"5\""},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775808", "9.223372036854776e+18"},
  };
  for (const auto& [yaml, json] : cases) {
    // "-" alone would begin a list.
    const std::string text = std::string(yaml) == "-" ? "'-'" : yaml;
    const auto config = Parse(absl::StrCat(kMinimal, "data: {x: ", text, "}"));
    ASSERT_TRUE(config.ok()) << yaml << config.status();
    EXPECT_EQ(config->data.Find("x")->ToJson(), json) << yaml;
  }
}

TEST(ParseTest, RefusesTextsThatTheLibraryWouldGuess) {
  EXPECT_THAT(Error("description: 'open\nmax_restarts: 1\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(Error("data: !custom {a: 1}\n"), HasSubstr("the tag !custom is not supported"));
  EXPECT_THAT(Error("data: {<<: 1}\n"),
              HasSubstr("1: expected a map or a list of maps after <<, found 1"));
  EXPECT_THAT(Error("data: {x: !!int 3.5}\n"),
              HasSubstr("is not supported with the value \"3.5\""));
}

TEST(ParseTest, AppliesOverrides) {
  const std::string yaml = absl::StrCat(kMinimal, "max_restarts: 3\nresources: {priority: 5}\n");
  const auto config = Parse(yaml, {"max_restarts=null", "resources.slots_per_trial=2",
                                   "hyperparameters.net.width={type: int, minval: 1, maxval: 2}",
                                   "searcher.name=random", "searcher.max_trials=4", "name='007'"});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->max_restarts, 5);
  EXPECT_EQ(config->resources.slots_per_trial, 2);
  EXPECT_EQ(config->resources.priority, 5);
  EXPECT_EQ(config->searcher.max_trials, 4);
  EXPECT_EQ(config->name, "007");
  EXPECT_EQ(ToValue(config->hyperparameters).ToJson(),
            R"({"net":{"width":{"maxval":2,"minval":1,"type":"int"}}})");
}

TEST(ParseTest, NamesOverrideInProblems) {
  EXPECT_EQ(Error(kMinimal, {"resources.slots_per_trial=two"}),
            "--config resources.slots_per_trial: resources.slots_per_trial: expected an integer "
            ">= 0, a part of one device such as 0.5, or {min: 2, max: 8}, found \"two\"");
  EXPECT_EQ(Error(kMinimal, {"resources.slots=2"}),
            "--config resources.slots: resources.slots: is a field of commands and notebooks; use "
            "slots_per_trial");
  EXPECT_EQ(Error(kMinimal, {"name"}),
            "--config name: expected the form key.subkey=value, or key.subkey+=value to append to "
            "a list or a map");
  EXPECT_THAT(Error(kMinimal, {"a..b=1"}),
              HasSubstr("--config a..b=1: expected the form key.subkey=value"));
  EXPECT_EQ(Error(kMinimal, {"entrypoint.x=1"}),
            "--config entrypoint.x: cannot set \"x\" in \"true\"; expected a map");
  EXPECT_THAT(Error(kMinimal, {"data={"}), HasSubstr("--config data: not valid YAML"));
}

TEST(ParseTest, NamesSourceConfiguration_WithoutPath) {
  EXPECT_THAT(ParseExperimentConfig("a: [", "", {}, {}).status().ToString(),
              HasSubstr("configuration:"));
  EXPECT_THAT(
      ParseExperimentConfig(kMinimal, "", {}, {}).status().ToString(),
      HasSubstr("checkpoint_storage.host_path: required but missing; expected an absolute path"));
}

// Damaged text never crashes the parser; each problem has a position, and most have a line.
TEST(ParseTest, SurvivesDamagedText) {
  const std::string good = absl::StrCat(kMinimal, R"(
name: "a\tb"
labels: [a, 'b']
data: &d {x: [1, 2.5, {y: ~}], z: |
    text
  }
hyperparameters: {<<: *d, lr: {type: log, minval: -4, maxval: -1},
  m: {type: int, minval: 0, maxval: 9, when: {lr: {minval: 0.01}}}}
environment: {image: {gpu: a, cpu: b}, environment_variables: [A=1], proxy_ports: [{proxy_port: 1}]}
resources: {devices: ["a:b:r", {host_path: c, container_path: d}], shm_size: 4g}
log_policies: [{pattern: a, actions: [{signal: b}, {type: exclude_node}]}, {name: c, action: null}]
checkpoint_storage: {type: directory, container_path: /x}
)");
  const std::string alphabet = "\n\t :-[]{}&*!|>'\"%@`#,?~0a\xc3\\";
  int refused = 0;
  int with_line = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    base::Rng rng(seed);
    std::string text = good;
    for (int64_t i = rng.UniformInt(1, 6); i > 0; --i) {
      const auto at = static_cast<size_t>(rng.UniformInt(0, std::ssize(text) - 1));
      const auto pick = static_cast<size_t>(rng.UniformInt(0, std::ssize(alphabet) - 1));
      switch (rng.UniformInt(0, 2)) {
        case 0:
          text[at] = alphabet[pick];
          break;
        case 1:
          text.insert(at, 1, alphabet[pick]);
          break;
        default:
          text.erase(at, static_cast<size_t>(rng.UniformInt(1, 8)));
      }
    }
    const auto config = Parse(text);
    if (config.ok()) continue;
    ++refused;
    const std::string message(config.status().message());
    with_line += message.find("const.yaml:") != message.npos &&
                         absl::ascii_isdigit(message.at(message.find("const.yaml:") + 11))
                     ? 1
                     : 0;
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(message, '\n'))) {
      EXPECT_TRUE(line.starts_with("const.yaml")) << "seed " << seed << ": " << message;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(with_line, refused * 9 / 10);
}

// Any value in place of any member of a valid configuration never crashes the parser.
TEST(ParseTest, SurvivesMisplacedValues) {
  ExperimentConfig config = *Parse(absl::StrCat(kMinimal, R"(
bind_mounts: [{host_path: /a, container_path: /a}]
resources: {devices: ["a:b"]}
environment: {proxy_ports: [{proxy_port: 1}], ports: {a: 1}}
hyperparameters: {a: {type: int, minval: 0, maxval: 1}, n: {x: [1]}}
)"));
  const Value good = ToValue(config);
  const std::vector<Value> strangers = {Value(),
                                        true,
                                        -1,
                                        1e300,
                                        "text",
                                        Value::List{},
                                        Value::List{1},
                                        Value::List{Value()},
                                        Value::Object{},
                                        Value::Object{{"type", "int"}},
                                        Value::Object{{"a.b", 1}}};
  int tried = 0;
  const std::function<void(const Value&, const std::function<Value(Value)>&)> visit =
      [&](const Value& at, const std::function<Value(Value)>& put) {
        for (const Value& stranger : strangers) {
          const auto parsed = Parse(put(stranger).ToJson());
          ++tried;
          if (parsed.ok()) continue;
          EXPECT_TRUE(parsed.status().message().find("const.yaml") == 0) << parsed.status();
        }
        if (const Value::Object* object = at.AsObject()) {
          for (const auto& [key, member] : *object) {
            visit(member, [&put, object, key = key](Value v) {
              Value::Object copy = *object;
              copy[key] = std::move(v);
              return put(copy);
            });
          }
        }
        if (const Value::List* list = at.AsList()) {
          for (size_t i = 0; i < list->size(); ++i) {
            visit((*list)[i], [&put, list, i](Value v) {
              Value::List copy = *list;
              copy[i] = std::move(v);
              return put(copy);
            });
          }
        }
      };
  visit(good, [](Value v) { return v; });
  EXPECT_GT(tried, 1000);
}

TEST(ConfigDocumentTest, FindsLineOfMember) {
  const auto document = ConfigDocument::Parse("name: x\nsearcher:\n  metric: loss\n", "a.yaml");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->Locate("searcher.metric"), "a.yaml:3");
  EXPECT_EQ(document->Locate("entrypoint"), "a.yaml");
  EXPECT_EQ(ConfigDocument::Parse("", "")->Locate("entrypoint"), "configuration");
}

TEST(ConfigDocumentTest, RefusesTextThatIsNotMap) {
  EXPECT_THAT(ConfigDocument::Parse("[", "").status().ToString(),
              HasSubstr("INVALID_ARGUMENT: configuration:"));
  EXPECT_THAT(ConfigDocument::Parse("- 1", "a.yaml").status().ToString(),
              HasSubstr("INVALID_ARGUMENT: a.yaml"));
}

// A text is parsed once, however often it is merged with layers and validated.
TEST(ConfigDocumentTest, BuildsConfigsWithSeveralSetsOfLayers) {
  const std::string yaml =
      absl::StrCat(kMinimal, "max_restarts: 3\nresources: {slots_per_trial: x}\n");
  const std::string valid = absl::StrCat(kMinimal, "max_restarts: 3\nlabels: [own]\n");
  const auto document = ConfigDocument::Parse(valid, "a.yaml");
  ASSERT_TRUE(document.ok()) << document.status();
  for (int i = 0; i < 2; ++i) {
    ConfigDefaults defaults = TestDefaults();
    const auto alone = BuildExperimentConfig(*document, {}, defaults);
    ASSERT_TRUE(alone.ok()) << alone.status();
    EXPECT_EQ(*alone, *ParseExperimentConfig(valid, "a.yaml", {}, defaults));
    defaults.below = {{"template t", "debug: true"}};
    defaults.above = {{"policy p", "max_restarts: 1"}};
    const auto layered = BuildExperimentConfig(*document, {"name=x"}, defaults);
    ASSERT_TRUE(layered.ok()) << layered.status();
    EXPECT_EQ(layered->name, "x");
    EXPECT_TRUE(layered->debug);
    EXPECT_EQ(layered->max_restarts, 1);
  }
  // Errors have the lines of the document, of the overrides and of the layers.
  const auto wrong = ConfigDocument::Parse(yaml, "a.yaml");
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  ConfigDefaults defaults = TestDefaults();
  defaults.above = {{"policy p", "debug: 7"}};
  EXPECT_EQ(BuildExperimentConfig(*wrong, {"max_restarts=-1"}, defaults).status(),
            ParseExperimentConfig(yaml, "a.yaml", {"max_restarts=-1"}, defaults).status());
  EXPECT_THAT(BuildExperimentConfig(*wrong, {}, defaults).status().ToString(),
              HasSubstr("a.yaml:4: resources.slots_per_trial"));
}

}  // namespace
}  // namespace det::model
