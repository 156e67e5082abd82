#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/model/entrypoint.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/id_text.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::model {
namespace {

using ::testing::HasSubstr;

TEST(ValueTest, WritesCompactJsonWithSortedKeys) {
  const Value value =
      Value::Object{{"b", Value::List{1, 1.0, "x\n", true, Value()}}, {"a", Value::Object{}}};
  EXPECT_EQ(value.ToJson(), R"({"a":{},"b":[1,1.0,"x\n",true,null]})");
}

TEST(ValueTest, DistinguishesIntegersAndDoubles) {
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_EQ(*Value::FromJson("1"), Value(1));
  EXPECT_EQ(*Value::FromJson("1.0"), Value(1.0));
  EXPECT_EQ(*Value::FromJson("1e0"), Value(1.0));
  EXPECT_EQ(Value(3).AsNumber(), 3.0);
  EXPECT_EQ(Value(2.5).AsNumber(), 2.5);
  EXPECT_EQ(Value("2.5").AsNumber(), std::nullopt);
}

TEST(ValueTest, ConvertsIntegersBeyondInt64ToDoubles) {
  EXPECT_EQ(*Value::FromJson("9223372036854775807"), Value(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(*Value::FromJson("9223372036854775808"), Value(9223372036854775808.0));
}

TEST(ValueTest, WritesNonFiniteNumbersAsStrings) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ((Value(Value::List{std::nan(""), inf, -inf})).ToJson(),
            R"(["NaN","Infinity","-Infinity"])");
  EXPECT_EQ(Value(std::string("\xff")).ToJson(), "\"\xEF\xBF\xBD\"");
}

TEST(ValueTest, RejectsInvalidJson) {
  for (const char* text : {"", "{", "[1,]", "1 2", "nul", "{\"a\":1e999}", "\"\xff\""}) {
    const auto value = Value::FromJson(text);
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(value.status().message()), HasSubstr("not valid JSON")) << text;
  }
}

TEST(ValueTest, RejectsDeepNesting) {
  const std::string deep(100'000, '[');
  EXPECT_FALSE(Value::FromJson(deep).ok());
  EXPECT_FALSE(Value::FromJson(deep + std::string(100'000, ']')).ok());
  EXPECT_TRUE(Value::FromJson(std::string(100, '[') + std::string(100, ']')).ok());
}

TEST(ValueTest, FindsMembersOnlyInObjects) {
  const Value value = Value::Object{{"a", 1}};
  ASSERT_NE(value.Find("a"), nullptr);
  EXPECT_EQ(*value.Find("a"), Value(1));
  EXPECT_EQ(value.Find("b"), nullptr);
  EXPECT_EQ(Value(1).Find("a"), nullptr);
}

Value RandomValue(base::Rng& rng, int depth) {
  switch (rng.UniformInt(0, depth > 0 ? 6 : 4)) {
    case 0:
      return Value();
    case 1:
      return rng.UniformInt(0, 1) == 1;
    case 2:
      return static_cast<int64_t>(rng.Next());
    case 3:
      return std::ldexp(rng.Uniform01() - 0.5, static_cast<int>(rng.UniformInt(-300, 300)));
    case 4:
      return std::string(static_cast<size_t>(rng.UniformInt(0, 3)),
                         static_cast<char>(rng.UniformInt(1, 127)));
    case 5: {
      Value::List list;
      for (int64_t i = rng.UniformInt(0, 3); i > 0; --i) {
        list.push_back(RandomValue(rng, depth - 1));
      }
      return list;
    }
    default: {
      Value::Object object;
      for (int64_t i = rng.UniformInt(0, 3); i > 0; --i) {
        object.emplace(std::string(1, static_cast<char>(rng.UniformInt('a', 'z'))),
                       RandomValue(rng, depth - 1));
      }
      return object;
    }
  }
}

TEST(ValueTest, RoundTripsThroughJson) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    base::Rng rng(seed);
    const Value value = RandomValue(rng, 4);
    const auto again = Value::FromJson(value.ToJson());
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.status();
    ASSERT_EQ(*again, value) << "seed " << seed << ": " << value.ToJson();
  }
}

TEST(StatesTest, RoundTripsNames) {
  for (int i = 0; i <= static_cast<int>(ExperimentState::kError); ++i) {
    const auto state = static_cast<ExperimentState>(i);
    EXPECT_EQ(ParseExperimentState(ToString(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(TrialState::kError); ++i) {
    const auto state = static_cast<TrialState>(i);
    EXPECT_EQ(ParseTrialState(ToString(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(AllocationState::kTerminated); ++i) {
    const auto state = static_cast<AllocationState>(i);
    EXPECT_EQ(ParseAllocationState(ToString(state)), state);
  }
  for (int i = 0; i <= static_cast<int>(ExitReason::kNodeLost); ++i) {
    const auto reason = static_cast<ExitReason>(i);
    EXPECT_EQ(ParseExitReason(ToString(reason)), reason);
  }
  EXPECT_EQ(ParseTrialState("running"), std::nullopt);
}

TEST(StatesTest, ReportsOnlyEndStatesAsTerminal) {
  EXPECT_FALSE(IsTerminal(ExperimentState::kStoppingError));
  EXPECT_TRUE(IsTerminal(ExperimentState::kError));
  EXPECT_TRUE(IsTerminal(TrialState::kCanceled));
  EXPECT_FALSE(IsTerminal(TrialState::kStopping));
}

TEST(EntrypointTest, RecognizesTrialClass) {
  EXPECT_EQ(ParseTrialEntrypoint("fashion_mnist.cc:FashionMnistTrial"),
            (TrialEntrypoint{"fashion_mnist.cc", "FashionMnistTrial"}));
  EXPECT_EQ(ParseTrialEntrypoint("src/a-b.cpp:my::Trial"),
            (TrialEntrypoint{"src/a-b.cpp", "my::Trial"}));
  const std::vector<std::string> list = {"a.cc:B"};
  for (const Entrypoint& other :
       std::vector<Entrypoint>{list, "", "a.cc", "a.cc:", ".cc:A", "a.cc:9A", "a.cc:A b",
                               "run a.cc:A", "a.py:A", "a:b.cc:C", ":A"}) {
    EXPECT_EQ(ParseTrialEntrypoint(other), std::nullopt);
  }
}

TEST(EntrypointTest, RecognizesPythonClass) {
  EXPECT_TRUE(IsPythonEntrypoint("model_def:MNistTrial"));
  EXPECT_TRUE(IsPythonEntrypoint("pkg.model:Trial"));
  EXPECT_EQ(PythonTrialCommand("pkg.model:Trial"),
            (std::vector<std::string>{"python3", "-m", "determined.launch.torch_distributed", "--",
                                      "--trial", "pkg.model:Trial"}));
  EXPECT_FALSE(IsPythonEntrypoint("net.cc:Trial"));
  EXPECT_FALSE(IsPythonEntrypoint("python3 train.py"));
  EXPECT_FALSE(IsPythonEntrypoint("./run:all"));
  EXPECT_FALSE(IsPythonEntrypoint(std::vector<std::string>{"a:B"}));
}

TEST(ExperimentConfigTest, WritesEveryDefault) {
  ExperimentConfig config;
  config.name = "one";
  config.entrypoint = "true";
  config.searcher = {.name = "single", .metric = "loss"};
  config.checkpoint_storage.host_path = "/ckpt";
  const Value value = ToValue(config);
  // A path for each kind of default: a displayed one, none, and a section that is omitted.
  const std::pair<const char*, const char*> expected[] = {
      {"name", R"("one")"},
      {"max_restarts", "5"},
      {"description", R"("")"},
      {"min_validation_period", R"({"batches":0})"},
      {"checkpoint_storage",
       R"({"host_path":"/ckpt","propagation":"rprivate","save_experiment_best":0,)"
       R"("save_trial_best":1,"save_trial_latest":1,"storage_path":null,"type":"shared_fs"})"},
      {"searcher",
       R"({"max_length":null,"max_time":null,"metric":"loss","name":"single",)"
       R"("smaller_is_better":true,"source_checkpoint_uuid":null,"source_trial_id":null,)"
       R"("time_metric":null})"},
      {"integrations", "null"},
      {"slurm", "{}"},
      {"bind_mounts", "[]"},
      {"retention_policy", R"({"log_retention_days":null})"},
  };
  for (const auto& [path, json] : expected) {
    ASSERT_NE(value.Find(path), nullptr) << path;
    EXPECT_EQ(value.Find(path)->ToJson(), json);
  }
}

TEST(IdTextTest, DerivesJobIdFromExperiment) {
  EXPECT_EQ(ToJobId(ExperimentId(7)), JobId("exp-7"));
  EXPECT_EQ(ParseJobId(JobId("exp-7")), ExperimentId(7));
  for (const char* other :
       {"", "7", "exp-", "exp-7x", "exp-07", "exp-+7", "Exp-7", "exp-99999999999"}) {
    EXPECT_EQ(ParseJobId(JobId(other)), std::nullopt) << other;
  }
  EXPECT_EQ(AllocationPrefix(ExperimentId(1)), "1.") << "does not match experiment 12";
}

TEST(IdTextTest, ParsesAllocationId) {
  const auto run = ParseAllocationId(AllocationId("7.12.3"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->experiment, ExperimentId(7));
  EXPECT_EQ(run->trial, TrialId(12));
  EXPECT_EQ(run->task, TaskId("7.12"));
  EXPECT_EQ(run->run, 3);
  for (const char* other : {"", "7", "7.12", "7.12.3.4", "7.x.3"}) {
    EXPECT_FALSE(ParseAllocationId(AllocationId(other))) << other;
  }
}

}  // namespace
}  // namespace det::model
