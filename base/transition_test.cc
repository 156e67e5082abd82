#include "base/transition.h"

#include <gtest/gtest.h>

namespace det::base {
namespace {

enum class State { kActive, kPaused, kDone };
enum class Event { kPause, kResume, kFinish };

constexpr Transition<State, Event> kTable[] = {
    {{State::kActive}, Event::kPause, State::kPaused},
    {{State::kPaused}, Event::kResume, State::kActive},
    {{State::kActive, State::kPaused}, Event::kFinish, State::kDone},
};
static_assert(IsDeterministic(kTable));

constexpr Transition<State, Event> kAmbiguous[] = {
    {{State::kActive, State::kPaused}, Event::kFinish, State::kDone},
    {{State::kPaused}, Event::kFinish, State::kActive},
};
static_assert(!IsDeterministic(kAmbiguous));

static_assert(Lookup(kTable, State::kPaused, Event::kFinish) == State::kDone);
static_assert(Lookup(kTable, State::kDone, Event::kFinish) == std::nullopt);

const char* Name(State state) {
  constexpr const char* kNames[] = {"Active", "Paused", "Done"};
  return kNames[static_cast<int>(state)];
}
const char* Name(Event event) {
  constexpr const char* kNames[] = {"Pause", "Resume", "Finish"};
  return kNames[static_cast<int>(event)];
}

TEST(TransitionTest, WritesMarkdown) {
  EXPECT_EQ(ToMarkdown(
                kTable, [](State s) { return Name(s); }, [](Event e) { return Name(e); }),
            "| From | Event | To |\n|---|---|---|\n"
            "| Active | Pause | Paused |\n"
            "| Paused | Resume | Active |\n"
            "| Active, Paused | Finish | Done |\n");
}

}  // namespace
}  // namespace det::base
