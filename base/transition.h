// A state machine as a table of transitions: event, source states and destination. The machine
// looks up its transitions here and the documentation is generated from it, so the two cannot
// differ. Used by the state machines of PURE folders and by the documentation generator, on any
// thread. Holds no state and performs no action. PURE.
//
//   inline constexpr Transition<LampState, LampEvent> kLampTable[] = {
//       {{LampState::kOff, LampState::kDim}, LampEvent::kPress, LampState::kOn},
//   };
//   std::optional<LampState> next = Lookup(kLampTable, state, LampEvent::kPress);
#ifndef BASE_TRANSITION_H_
#define BASE_TRANSITION_H_

#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace det::base {

// The source states of a row; a value that can be part of a constexpr table.
template <class State>
class Sources {
 public:
  static constexpr size_t kMax = 12;

  // REQUIRES at most kMax states; more do not compile in a constexpr table.
  constexpr Sources(std::initializer_list<State> states) {
    for (const State state : states) states_.at(size_++) = state;
  }

  constexpr const State* begin() const { return states_.data(); }
  constexpr const State* end() const { return states_.data() + size_; }
  constexpr size_t size() const { return size_; }
  constexpr bool contains(State state) const {
    for (const State each : *this) {
      if (each == state) return true;
    }
    return false;
  }

 private:
  std::array<State, kMax> states_{};
  size_t size_ = 0;
};

template <class State, class Event>
struct Transition {
  Sources<State> sources;
  Event event;
  State destination;
};

// Returns the destination of `event` from `state`; nullopt if the event is not allowed there.
template <class State, class Event, size_t kRows>
constexpr std::optional<State> Lookup(const Transition<State, Event> (&table)[kRows], State state,
                                      Event event) {
  for (const auto& row : table) {
    if (row.event == event && row.sources.contains(state)) return row.destination;
  }
  return std::nullopt;
}

// Returns whether no state has two rows for one event. Intended for a static_assert next to the
// table.
template <class State, class Event, size_t kRows>
constexpr bool IsDeterministic(const Transition<State, Event> (&table)[kRows]) {
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t j = i + 1; j < kRows; ++j) {
      if (table[i].event != table[j].event) continue;
      for (const State state : table[i].sources) {
        if (table[j].sources.contains(state)) return false;
      }
    }
  }
  return true;
}

// Returns a Markdown table with one line per row. The name functions convert the enums to text.
template <class State, class Event, size_t kRows, class StateName, class EventName>
std::string ToMarkdown(const Transition<State, Event> (&table)[kRows], StateName state_name,
                       EventName event_name) {
  std::string text = "| From | Event | To |\n|---|---|---|\n";
  for (const auto& row : table) {
    std::string sources;
    for (const State state : row.sources) {
      absl::StrAppend(&sources, sources.empty() ? "" : ", ", state_name(state));
    }
    absl::StrAppend(&text, "| ", sources, " | ", event_name(row.event), " | ",
                    state_name(row.destination), " |\n");
  }
  return text;
}

}  // namespace det::base

#endif  // BASE_TRANSITION_H_
