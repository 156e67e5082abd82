#include "master/core/searcher/journal.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::RequestId;
using model::Value;

std::vector<Event> AllKinds() {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Event> events;
  events.emplace_back(TrialCreated{RequestId("1")});
  events.emplace_back(ValidationReported{RequestId("1"), 12, 1.5, {0.1, -inf, inf, 3}});
  events.emplace_back(ValidationReported{RequestId("1"), 13, 2, {}});
  for (const TrialEnd end :
       {TrialEnd::kCompleted, TrialEnd::kFailed, TrialEnd::kInvalidHp, TrialEnd::kCanceled}) {
    events.emplace_back(TrialExited{RequestId("odd \"one\""), end});
  }
  OperationsPosted posted{.id = "p", .events_read = 7, .operations = {}};
  posted.operations.emplace_back(CreateTrial{.request = RequestId("2"),
                                             .seed = 4'000'000'000u,
                                             .hparams = {{"lr", 1.0}, {"n", Value::Object{}}},
                                             .parent = RequestId("1")});
  posted.operations.emplace_back(CreateTrial{.request = RequestId("3"), .hparams = {}});
  posted.operations.emplace_back(StopTrial{RequestId("1")});
  posted.operations.emplace_back(PauseTrial{RequestId("2")});
  posted.operations.emplace_back(ResumeTrial{RequestId("2")});
  posted.operations.emplace_back(Shutdown{.failed = false, .canceled = true});
  events.emplace_back(std::move(posted));
  return events;
}

TEST(JournalTest, RoundTripsEventsThroughJson) {
  for (const Event& event : AllKinds()) {
    const std::string text = ToValue(event).ToJson();
    const absl::StatusOr<Event> back = EventFromValue(*Value::FromJson(text));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(*back == event) << text;
  }
}

TEST(JournalTest, RoundTripsNaN) {
  const Event event = ValidationReported{RequestId("1"), 1, std::nan(""), {std::nan("")}};
  const auto back = EventFromValue(*Value::FromJson(ToValue(event).ToJson()));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(std::isnan(std::get<ValidationReported>(*back).length));
  EXPECT_TRUE(std::isnan(std::get<ValidationReported>(*back).metrics.at(0)));
}

TEST(JournalTest, RejectsInvalidEvents) {
  for (const char* text :
       {"null", "3", "[]", R"(["shouted"])", R"(["created"])", R"(["created", 3])",
        R"(["created", "1", "2"])", R"(["exited", "1", "somehow"])",
        R"(["validation", "1", 2.5, 1, []])", R"(["validation", "1", 2, "much", []])",
        R"(["validation", "1", 2, 1, ["x"]])", R"(["posted", "p", 1, [["pause"]]])",
        R"(["posted", "p", 1, [["create", "1", 1, [], null]]])"}) {
    const auto event = EventFromValue(*Value::FromJson(text));
    EXPECT_TRUE(absl::IsInvalidArgument(event.status())) << text;
  }
}

}  // namespace
}  // namespace det::searcher
