// Helpers for the rows of a table of fields. Each file that uses them first declares the struct
// that its rows fill: `using Owner = ExperimentConfig;`. Private to those files.
#ifndef MASTER_CORE_MODEL_FIELD_ROWS_H_
#define MASTER_CORE_MODEL_FIELD_ROWS_H_

#include <limits>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/field_table.h"

namespace det::model {

template <class T>
ListTarget MakeListTarget(std::vector<T>& list) {
  return {&list, [](const void* at) { return static_cast<const std::vector<T>*>(at)->size(); },
          [](void* at, size_t size) { static_cast<std::vector<T>*>(at)->resize(size); }};
}

// Enumerators count from 0, in the order of the field's choices.
template <class E>
ChoiceTarget MakeChoiceTarget(E& value) {
  return {&value, [](const void* at) { return static_cast<int>(*static_cast<const E*>(at)); },
          [](void* at, int index) { *static_cast<E*>(at) = static_cast<E>(index); }};
}
template <class E>
ChoiceTarget MakeChoiceTarget(std::optional<E>& value) {
  using Place = std::optional<E>;
  return {&value,
          [](const void* at) {
            const Place& place = *static_cast<const Place*>(at);
            return place ? static_cast<int>(*place) : -1;
          },
          [](void* at, int index) { *static_cast<Place*>(at) = static_cast<E>(index); }};
}

// T: int64_t, or an optional one.
template <class T>
SizeTarget MakeSizeTarget(T& value) {
  return {&value, [](const void* at) { return std::optional<int64_t>(*static_cast<const T*>(at)); },
          [](void* at, int64_t bytes) { *static_cast<T*>(at) = bytes; }};
}

inline DurationTarget MakeDurationTarget(std::optional<int64_t>& seconds) {
  using Place = std::optional<int64_t>;
  return {&seconds,
          [](const void* at) {
            const Place& place = *static_cast<const Place*>(at);
            return place ? std::optional<double>(static_cast<double>(*place)) : std::nullopt;
          },
          [](void* at, double value) { *static_cast<Place*>(at) = static_cast<int64_t>(value); }};
}
inline DurationTarget MakeDurationTarget(absl::Duration& duration) {
  return {&duration,
          [](const void* at) {
            return std::optional(absl::ToDoubleSeconds(*static_cast<const absl::Duration*>(at)));
          },
          [](void* at, double value) { *static_cast<absl::Duration*>(at) = absl::Seconds(value); }};
}

inline constexpr double kMaxInt = std::numeric_limits<int>::max();

constexpr Field Section(const char* path, const char* description) {
  return {.path = path, .description = description, .role = Field::Role::kSection};
}
constexpr Field Ignored(const char* path) {
  return {.path = path, .description = "Ignored.", .role = Field::Role::kIgnored};
}

}  // namespace det::model

// The member of the configuration `c` that a row fills; `i` is the index of the list item.
#define DET_TARGET(...)                                       \
  [](void* owner, [[maybe_unused]] size_t i) -> FieldTarget { \
    auto& c = *static_cast<Owner*>(owner);                    \
    return FieldTarget(__VA_ARGS__);                          \
  }
#define DET_AT(member) DET_TARGET(&c.member)
#define DET_ITEM(list, member) DET_TARGET(&c.list.at(i).member)
#define DET_LIST(member) DET_TARGET(MakeListTarget(c.member))
#define DET_CHOICE(member) DET_TARGET(MakeChoiceTarget(c.member))
#define DET_AS(Target, member) DET_TARGET(Target{&c.member})

#endif  // MASTER_CORE_MODEL_FIELD_ROWS_H_
