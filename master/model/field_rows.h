// What the files of the table of fields write their rows with. Private to fields*.cc.
#ifndef MASTER_MODEL_FIELD_ROWS_H_
#define MASTER_MODEL_FIELD_ROWS_H_

#include <limits>
#include <vector>

#include "master/model/fields.h"

namespace det::model {

template <class T>
ListTarget ListOf(std::vector<T>& list) {
  return {&list, [](const void* at) { return static_cast<const std::vector<T>*>(at)->size(); },
          [](void* at, size_t size) { static_cast<std::vector<T>*>(at)->resize(size); }};
}

// Enumerators count from 0, in the order of the field's choices.
template <class E>
ChoiceTarget ChoiceOf(E& value) {
  return {&value, [](const void* at) { return static_cast<int>(*static_cast<const E*>(at)); },
          [](void* at, int index) { *static_cast<E*>(at) = static_cast<E>(index); }};
}

inline constexpr double kMaxInt = std::numeric_limits<int>::max();

constexpr Field Section(const char* path, const char* description) {
  return {.path = path, .description = description, .role = Field::Role::kSection};
}
constexpr Field Ignored(const char* path) {
  return {.path = path, .description = "Without effect.", .role = Field::Role::kIgnored};
}

}  // namespace det::model

// The member of the configuration that a row fills, and the member of a list's item.
#define DET_AT(member) \
  [](ExperimentConfig& c, size_t) -> FieldTarget { return FieldTarget(&c.member); }
#define DET_ITEM(list, member) \
  [](ExperimentConfig& c, size_t i) -> FieldTarget { return FieldTarget(&c.list.at(i).member); }
#define DET_LIST(member) [](ExperimentConfig& c, size_t) -> FieldTarget { return ListOf(c.member); }
#define DET_CHOICE(member) \
  [](ExperimentConfig& c, size_t) -> FieldTarget { return ChoiceOf(c.member); }
#define DET_AS(Target, member) \
  [](ExperimentConfig& c, size_t) -> FieldTarget { return Target{&c.member}; }

#endif  // MASTER_MODEL_FIELD_ROWS_H_
