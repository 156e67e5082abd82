#include "master/core/searcher/custom.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "master/core/searcher/searcher.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

model::ExperimentConfig Config(int64_t concurrent) {
  model::ExperimentConfig config;
  config.searcher = {.name = "custom", .metric = "loss", .max_concurrent_trials = concurrent};
  config.searcher.other_objectives = {{"accuracy", false}};
  config.experiment_seed = 42;
  return config;
}

RequestId Id(const std::string& text) { return RequestId(text); }

Operation Create(const std::string& request, int64_t x = 0, uint32_t seed = 7) {
  return CreateTrial{.request = Id(request), .seed = seed, .hparams = {{"x", x}}};
}
Operation Stop(const std::string& request) { return StopTrial{Id(request)}; }
Operation Pause(const std::string& request) { return PauseTrial{Id(request)}; }
Operation Resume(const std::string& request) { return ResumeTrial{Id(request)}; }

class CustomTest : public ::testing::Test {
 protected:
  CustomTest() : searcher_(*Searcher::Make(Config(2))) {
    EXPECT_THAT(searcher_.Start(), IsEmpty()) << "returns no operations by itself";
  }

  std::vector<Operation> Post(std::vector<Operation> operations, int64_t events_read = 0) {
    return PostAs(absl::StrCat("post ", ++posts_), std::move(operations), events_read);
  }
  std::vector<Operation> PostAs(const std::string& id, std::vector<Operation> operations,
                                int64_t events_read = 0) {
    const auto answer = searcher_.Post({id, events_read, std::move(operations)});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(std::vector<Operation>());
  }
  // Posts operations and returns the error; the state must not change.
  std::string ExpectRejection(const OperationsPosted& post) {
    const Value before = searcher_.Snapshot();
    const auto answer = searcher_.Post(post);
    EXPECT_EQ(answer.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(searcher_.Snapshot(), before);
    EXPECT_THAT(searcher_.Handle(post), IsEmpty()) << "the event is ignored";
    EXPECT_EQ(searcher_.Snapshot(), before);
    return std::string(answer.status().message());
  }
  std::string ExpectRejection(std::vector<Operation> operations) {
    return ExpectRejection(OperationsPosted{"rejected", 0, std::move(operations)});
  }
  std::vector<Operation> Exit(const std::string& request, TrialEnd end = TrialEnd::kCompleted) {
    return searcher_.Handle(TrialExited{Id(request), end});
  }
  std::vector<std::string> Events() {
    std::vector<std::string> lines;
    for (const PendingEvent& event : searcher_.PendingEvents()) {
      lines.push_back(absl::StrCat(event.id, " ", event.description.ToJson()));
    }
    return lines;
  }

  Searcher searcher_;
  int posts_ = 0;
};

TEST_F(CustomTest, DeliversEvents) {
  Post({Create("a", 1)});
  searcher_.Handle(TrialCreated{Id("a")});
  const double inf = std::numeric_limits<double>::infinity();
  searcher_.Handle(ValidationReported{Id("a"), 10, 10, {0.25, 0.5}});
  searcher_.Handle(ValidationReported{Id("a"), 20, 20.5, {std::nan(""), -inf}});
  searcher_.Handle(ValidationReported{Id("a"), 30, inf, {1}});
  Exit("a", TrialEnd::kInvalidHp);
  EXPECT_THAT(
      Events(),
      ElementsAre(R"(1 {"type":"search_started"})", R"(2 {"request":"a","type":"trial_created"})",
                  R"(3 {"length":10.0,"metrics":{"accuracy":0.5,"loss":0.25},"request":"a",)"
                  R"("type":"validation"})",
                  R"(4 {"length":20.5,"metrics":{"accuracy":"-Infinity","loss":"NaN"},)"
                  R"("request":"a","type":"validation"})",
                  R"(5 {"length":"Infinity","metrics":{"loss":1.0},"request":"a",)"
                  R"("type":"validation"})",
                  R"(6 {"end":"invalid_hp","request":"a","type":"trial_exited"})"));
}

TEST_F(CustomTest, KeepsEventsUntilAcknowledged) {
  Post({Create("a")});
  Exit("a", TrialEnd::kCanceled);
  EXPECT_EQ(Events().size(), 2u);
  EXPECT_EQ(Events().size(), 2u) << "querying does not acknowledge events";
  Post({}, 1);
  EXPECT_THAT(Events(), ElementsAre(R"(2 {"end":"canceled","request":"a","type":"trial_exited"})"));
  Post({}, 0);
  EXPECT_EQ(Events().size(), 1u) << "acknowledged events are not delivered again";
  Post({}, 2);
  EXPECT_THAT(Events(), IsEmpty());
  EXPECT_EQ(ExpectRejection({"x", 3, {}}),
            "events_read is 3; give the id of the last event that you have read, from 0 (none) to "
            "2 (the newest)");
  ExpectRejection({"x", -1, {}});
}

TEST_F(CustomTest, AppliesPostedOperations) {
  EXPECT_THAT(Post({Create("a", 1), Create("b", 2)}), ElementsAre(Create("a", 1), Create("b", 2)));
  EXPECT_THAT(Post({Pause("a")}), ElementsAre(Pause("a")));
  EXPECT_THAT(Post({Pause("a")}), IsEmpty()) << "it is already paused";
  EXPECT_THAT(Post({Resume("a"), Stop("b")}), ElementsAre(Stop("b"), Resume("a")));
  EXPECT_THAT(Post({Stop("b"), Pause("b"), Resume("b")}), IsEmpty()) << "it is being stopped";
  EXPECT_THAT(Exit("b"), IsEmpty());
  EXPECT_THAT(Post({Stop("b"), Pause("b"), Resume("b")}), IsEmpty()) << "it has ended";
  EXPECT_DOUBLE_EQ(searcher_.Progress(), 0.5);
  CreateTrial child{.request = Id("c"), .seed = 1, .hparams = {}, .parent = Id("b")};
  EXPECT_THAT(Post({child}), ElementsAre(child));
}

TEST_F(CustomTest, LimitsOperationsOfPost) {
  std::vector<Operation> operations;
  for (size_t i = 0; i <= CustomSearch::kMaxOperations; ++i) {
    operations.push_back(Create(absl::StrCat(i)));
  }
  EXPECT_EQ(ExpectRejection(operations),
            "a post has 1001 operations; at most 1000 are allowed, post the rest next");
  operations.pop_back();
  EXPECT_EQ(Post(operations).size(), 2u) << "up to the concurrency limit";
}

TEST_F(CustomTest, KeepsNewestUnreadReport) {
  Post({Create("a")});
  searcher_.Handle(TrialCreated{Id("a")});
  const size_t others = searcher_.PendingEvents().size();
  const auto most = static_cast<int64_t>(CustomSearch::kMaxUnread);
  for (int64_t steps = 1; steps <= most + 10; ++steps) {
    searcher_.Handle(ValidationReported{Id("a"), steps, static_cast<double>(steps), {0.5, 0.5}});
  }
  const std::vector<PendingEvent> events = searcher_.PendingEvents();
  EXPECT_EQ(events.size(), CustomSearch::kMaxUnread);
  EXPECT_EQ(events[others].description.Find("length")->AsNumber(), 11.0 + others);
  EXPECT_EQ(events.back().description.Find("length")->AsNumber(), static_cast<double>(most + 10));
}

TEST_F(CustomTest, ContinuesUntilShutdown) {
  Post({Create("a")});
  EXPECT_THAT(Exit("a", TrialEnd::kFailed), IsEmpty());
  EXPECT_FALSE(searcher_.shut_down());
  EXPECT_THAT(Post({Shutdown{.failed = true}}), ElementsAre(Shutdown{.failed = true}));
  EXPECT_TRUE(searcher_.failed());
}

TEST_F(CustomTest, StopsRunningAndDropsWaitingTrials_OnShutdown) {
  Post({Create("a"), Create("b"), Create("c"), Create("d")});
  EXPECT_THAT(Post({Pause("b")}), ElementsAre(Pause("b"), Create("c")));
  EXPECT_THAT(Post({Shutdown{}}), ElementsAre(Stop("a"), Stop("b"), Stop("c")));
  EXPECT_THAT(Exit("a"), IsEmpty());
  EXPECT_THAT(Exit("c"), IsEmpty());
  EXPECT_FALSE(searcher_.shut_down());
  EXPECT_THAT(Exit("b"), ElementsAre(Shutdown{}));
  EXPECT_EQ(Events()[1], R"(2 {"end":"canceled","request":"d","type":"trial_exited"})");
}

TEST_F(CustomTest, AcceptsOnlyAcknowledgements_AfterShutdown) {
  Post({Create("a")});
  EXPECT_THAT(PostAs("last", {Shutdown{}}), ElementsAre(Stop("a")));
  EXPECT_EQ(ExpectRejection({Create("b")}),
            "operation 0: the search is shut down; shutdown comes last, and once");
  ExpectRejection({Shutdown{}});
  EXPECT_THAT(PostAs("last", {Shutdown{}}), IsEmpty());
  Exit("a");
  ASSERT_TRUE(searcher_.shut_down());
  EXPECT_THAT(PostAs("last", {Shutdown{}}), IsEmpty()) << "a repeated post";
  ExpectRejection({Create("b")});
  Post({}, 2);
  EXPECT_THAT(Events(), IsEmpty());
}

TEST_F(CustomTest, QueuesTrialsBeyondConcurrencyLimit) {
  EXPECT_THAT(Post({Create("a"), Create("b"), Create("c"), Create("d"), Create("e")}),
              ElementsAre(Create("a"), Create("b")));
  EXPECT_THAT(Post({Pause("a")}), ElementsAre(Pause("a"), Create("c")));
  EXPECT_THAT(Post({Resume("a"), Pause("d")}), IsEmpty());
  EXPECT_THAT(Exit("b"), ElementsAre(Create("e"))) << "d was paused before it started";
  EXPECT_THAT(Exit("c"), ElementsAre(Resume("a")));
  EXPECT_THAT(Post({Stop("a")}), ElementsAre(Stop("a")));
  EXPECT_THAT(Post({Resume("d")}), IsEmpty()) << "a has not ended yet";
  EXPECT_THAT(Exit("a"), ElementsAre(Create("d")));
}

TEST_F(CustomTest, DoesNotStartTrialStoppedWhileWaiting) {
  Post({Create("a"), Create("b"), Create("c")});
  EXPECT_THAT(Post({Stop("c")}), IsEmpty());
  EXPECT_THAT(Events(), ElementsAre(R"(1 {"type":"search_started"})",
                                    R"(2 {"end":"canceled","request":"c","type":"trial_exited"})"));
  EXPECT_THAT(Exit("a"), IsEmpty());
}

TEST_F(CustomTest, IgnoresRepeatedPost) {
  PostAs("p", {Create("a")});
  const Value before = searcher_.Snapshot();
  EXPECT_THAT(PostAs("p", {Create("a")}), IsEmpty());
  EXPECT_THAT(PostAs("p", {Create("z"), Shutdown{}}, 1), IsEmpty()) << "only the id counts";
  EXPECT_EQ(searcher_.Snapshot(), before);
}

TEST_F(CustomTest, CreatesTrialOnce_WhenRepeated) {
  Post({Create("a", 1)});
  EXPECT_THAT(Post({Create("a", 1), Create("a", 1)}), IsEmpty());
  EXPECT_EQ(ExpectRejection({Create("b"), Create("a", 2)}),
            "operation 1: trial \"a\" exists with other hyperparameters, parent or seed; choose "
            "another request id");
  ExpectRejection({Create("b", 1), Create("b", 2)});
  Exit("a");
  EXPECT_THAT(Post({Create("a", 1)}), IsEmpty()) << "also much later";
  for (size_t i = 0; i <= CustomSearch::kRememberedPosts; ++i) {
    PostAs(absl::StrCat("filler ", i), {});
  }
  EXPECT_THAT(PostAs("post 1", {Create("a", 1)}), IsEmpty()) << "the post is no longer remembered";
}

TEST_F(CustomTest, RejectsInvalidOperations) {
  EXPECT_EQ(ExpectRejection({Create("a"), Stop("b")}),
            "operation 1: no trial \"b\"; create it first");
  ExpectRejection({Pause("b")});
  ExpectRejection({Resume("b")});
  EXPECT_EQ(ExpectRejection({Shutdown{}, Create("a")}),
            "operation 1: the search is shut down; shutdown comes last, and once");
  ExpectRejection({Shutdown{}, Shutdown{}});
  EXPECT_EQ(ExpectRejection({CreateTrial{.request = Id("c"), .parent = Id("b")}}),
            "operation 0: no trial \"b\" to be the parent of \"c\"; create it first");
  ExpectRejection({CreateTrial{.request = Id("c"), .parent = Id("c")}});
  EXPECT_EQ(ExpectRejection({Create("")}),
            "operation 0: the trial's request id has 0 bytes; choose one of 1 to 64");
  ExpectRejection({Create(std::string(65, 'x'))});
  EXPECT_EQ(ExpectRejection({"", 0, {}}),
            "the id of a post has 0 bytes; choose a new one of 1 to 64 for each post, and keep it "
            "when you repeat the post");
  ExpectRejection({std::string(65, 'x'), 0, {}});
  EXPECT_EQ(Post({Create(std::string(64, 'x'))}).size(), 1u);
}

TEST_F(CustomTest, ChoosesSeed_WhenAbsent) {
  const auto seed_of = [this](const std::string& request) {
    const std::vector<Operation> operations = Post({Create(request, 0, 0)});
    return std::get<CreateTrial>(operations.at(0)).seed;
  };
  const uint32_t a = seed_of("a");
  EXPECT_NE(a, 0u);
  EXPECT_NE(seed_of("b"), a);
  EXPECT_THAT(Post({Create("a", 0, 0)}), IsEmpty()) << "the same operation as before";
}

TEST_F(CustomTest, WithholdsReportsOfPausedAndStoppedTrials) {
  Post({Create("a"), Create("b")});
  Post({Pause("a"), Stop("b")});
  searcher_.Handle(ValidationReported{Id("a"), 10, 10, {0.25}});
  searcher_.Handle(ValidationReported{Id("b"), 10, 10, {0.25}});
  EXPECT_EQ(Events().size(), 1u);
  Post({ResumeTrial{Id("a")}});
  EXPECT_EQ(Events().size(), 2u) << "the withheld report is delivered";
}

TEST(CustomSearchTest, RejectsOperationsForOtherMethods) {
  model::ExperimentConfig config = Config(2);
  config.searcher.name = "random";
  Searcher searcher = *Searcher::Make(config);
  searcher.Start();
  EXPECT_EQ(searcher.Post({"p", 0, {}}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(searcher.PendingEvents(), IsEmpty());
}

TEST(CustomSearchTest, RejectsForeignSnapshot) {
  Searcher searcher = *Searcher::Make(Config(2));
  searcher.Start();
  ASSERT_TRUE(searcher.Post({"p", 0, {Create("a"), Create("b"), Create("c")}}).ok());
  const Value good = searcher.Snapshot();
  ASSERT_TRUE(Searcher::Restore(Config(2), good).ok());
  for (const auto& [name, value] : *good.Find("method")->AsObject()) {
    if (name == "shutdown") continue;  // absent means none
    Value bad = good;
    bad.MutableObject()->at("method").MutableObject()->erase(name);
    EXPECT_FALSE(Searcher::Restore(Config(2), bad).ok()) << "without " << name;
  }
  for (const auto& [name, value] :
       *good.Find("method")->Find("trials")->AsList()->at(0).AsObject()) {
    if (name == "parent") continue;
    Value bad = good;
    Value& trials = bad.MutableObject()->at("method").MutableObject()->at("trials");
    trials.MutableList()->at(0).MutableObject()->erase(name);
    EXPECT_FALSE(Searcher::Restore(Config(2), bad).ok()) << "a trial without " << name;
  }
}

// ---- a program that drives a search over lost and repeated messages ----

// Random search by ask and tell: `total` trials with at most `at_once` that it knows to be alive,
// stopping some at their first report, pausing others until the next event. It stores only what it
// has read, and repeats each post until it gets a response.
class Client {
 public:
  Client(int total, int at_once, uint64_t seed) : total_(total), at_once_(at_once), rng_(seed) {}

  int64_t read = 0;
  std::map<RequestId, int> exits;        // as delivered
  std::optional<OperationsPosted> next;  // until it is answered

  void Read(const std::vector<PendingEvent>& events) {
    for (const PendingEvent& event : events) {
      if (event.id <= read) continue;  // repeated
      EXPECT_EQ(event.id, read + 1) << "an event was lost";
      read = event.id;
      const Value& what = event.description;
      const std::string type = *what.Find("type")->AsString();
      if (type == "search_started") continue;
      const RequestId request(*what.Find("request")->AsString());
      EXPECT_TRUE(created_.contains(request));
      if (type == "trial_exited") {
        ++exits[request];
      } else if (type == "validation") {
        plan_.push_back(rng_.UniformInt(0, 1) == 0 ? Operation(StopTrial{request})
                                                   : Operation(PauseTrial{request}));
        paused_.insert(request);
      }
    }
  }

  void Plan() {
    if (next || done_) return;
    while (static_cast<int>(created_.size()) < total_ &&
           static_cast<int>(created_.size() - exits.size()) < at_once_) {
      const RequestId request(absl::StrCat("trial ", created_.size()));
      created_.insert(request);
      plan_.emplace_back(CreateTrial{.request = request, .hparams = {{"x", rng_.Uniform01()}}});
    }
    if (plan_.empty()) {
      for (const RequestId& request : paused_) plan_.emplace_back(ResumeTrial{request});
      paused_.clear();
    }
    if (static_cast<int>(exits.size()) == total_) {
      plan_.emplace_back(Shutdown{});
      done_ = true;
    }
    next = OperationsPosted{absl::StrCat("post ", ++posts_), read, std::exchange(plan_, {})};
  }

 private:
  const int total_, at_once_;
  base::Rng rng_;
  std::set<RequestId> created_, paused_;
  std::vector<Operation> plan_;
  int posts_ = 0;
  bool done_ = false;
};

struct Step {
  Event event;
  std::vector<Operation> operations;
};

class LossyWorld {
 public:
  LossyWorld(int64_t concurrent, uint64_t seed)
      : config_(Config(concurrent)),
        client_(20, 6, seed),
        rng_(seed ^ 0x9E3779B97F4A7C15u),
        searcher_(*Searcher::Make(config_)) {}

  std::vector<Step> history;
  std::vector<Value> snapshots;  // before each step, and after the last

  void Play() {
    Take(searcher_.Start());
    for (int i = 0; i < 20'000 && !searcher_.shut_down(); ++i) {
      // The acknowledgement may be lost.
      if (rng_.UniformInt(0, 2) == 0) client_.Read(searcher_.PendingEvents());
      client_.Plan();
      Handle(Next());
      if (rng_.UniformInt(0, 9) == 0) Restart();
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_TRUE(searcher_.shut_down()) << "the search did not end";
    snapshots.push_back(searcher_.Snapshot());
    EXPECT_EQ(created_.size(), 20u) << "no trial is lost or created twice";
    EXPECT_EQ(client_.exits.size(), 20u);
    for (const auto& [request, times] : client_.exits) EXPECT_EQ(times, 1) << request;
  }

 private:
  void Handle(const Event& event) {
    snapshots.push_back(searcher_.Snapshot());
    history.push_back({event, searcher_.Handle(event)});
    Take(history.back().operations);
  }

  void Restart() {
    const Value snapshot = *Value::FromJson(searcher_.Snapshot().ToJson());
    auto restored = Searcher::Restore(config_, snapshot);
    ASSERT_TRUE(restored.ok()) << restored.status();
    EXPECT_EQ(restored->PendingEvents(), searcher_.PendingEvents());
    searcher_ = *std::move(restored);
  }

  Event Next() {
    const int64_t dice = rng_.UniformInt(0, 5);
    if (dice <= 1 || live_.empty()) {
      if (!posted_.empty() && rng_.UniformInt(0, 3) == 0) return Pick(posted_);  // late, repeated
      if (client_.next) {
        const OperationsPosted post = *client_.next;
        posted_.push_back(post);
        if (rng_.UniformInt(0, 1) == 0) client_.next.reset();  // or its answer was lost
        return post;
      }
    }
    if (live_.empty()) return TrialExited{Id("never created"), TrialEnd::kFailed};
    const RequestId request = Pick(live_);
    if (dice == 2) return TrialCreated{request};
    if (dice == 3) {
      ++steps_;
      return ValidationReported{request, steps_, static_cast<double>(steps_), {std::nan("")}};
    }
    std::erase(live_, request);
    running_.erase(request);
    return TrialExited{request,
                       Pick(std::vector<TrialEnd>{TrialEnd::kCompleted, TrialEnd::kFailed,
                                                  TrialEnd::kInvalidHp, TrialEnd::kCanceled})};
  }

  void Take(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      if (const auto* create = std::get_if<CreateTrial>(&operation)) {
        EXPECT_TRUE(created_.insert(create->request).second) << create->request;
        live_.push_back(create->request);
        running_.insert(create->request);
      } else if (const auto* pause = std::get_if<PauseTrial>(&operation)) {
        EXPECT_EQ(running_.erase(pause->request), 1u) << pause->request;
      } else if (const auto* resume = std::get_if<ResumeTrial>(&operation)) {
        EXPECT_TRUE(running_.insert(resume->request).second) << resume->request;
      }
    }
    const int64_t limit = config_.searcher.max_concurrent_trials;
    EXPECT_TRUE(limit == 0 || static_cast<int64_t>(running_.size()) <= limit) << running_.size();
  }

  template <class T>
  T Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(rng_.UniformInt(0, static_cast<int64_t>(from.size()) - 1))];
  }

  const model::ExperimentConfig config_;
  Client client_;
  base::Rng rng_;
  Searcher searcher_;
  std::vector<RequestId> live_;
  std::set<RequestId> created_, running_;
  std::vector<OperationsPosted> posted_;
  int64_t steps_ = 0;
};

TEST(CustomPropertyTest, SurvivesLostAndRepeatedMessages) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    LossyWorld world(static_cast<int64_t>(seed % 5), seed);
    world.Play();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(CustomPropertyTest, RestoreAtEveryPrefixContinuesIdentically) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const auto concurrent = static_cast<int64_t>(seed);
    LossyWorld world(concurrent, seed);
    world.Play();
    for (size_t from = 0; from < world.snapshots.size(); ++from) {
      const auto snapshot = Value::FromJson(world.snapshots[from].ToJson());
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      auto restored = Searcher::Restore(Config(concurrent), *snapshot);
      ASSERT_TRUE(restored.ok()) << restored.status();
      ASSERT_EQ(restored->Snapshot(), world.snapshots[from]) << "prefix " << from;
      for (size_t i = from; i < world.history.size(); ++i) {
        ASSERT_EQ(restored->Handle(world.history[i].event), world.history[i].operations)
            << "prefix " << from << ", step " << i;
      }
      ASSERT_EQ(restored->Snapshot(), world.snapshots.back());
    }
  }
}

}  // namespace
}  // namespace det::searcher
