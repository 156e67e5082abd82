// The words of an enumeration, in one table for writing and reading them.
//
//   constexpr Name<Color> kColors[] = {{Color::kRed, "red"}, {Color::kBlue, "blue"}};
//
// Included by the sources that hold such a table. On any thread. PURE.
#ifndef MASTER_CORE_MODEL_NAMES_H_
#define MASTER_CORE_MODEL_NAMES_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace det::model {

template <class Enum>
struct Name {
  Enum value;
  std::string_view text;
};

// "UNKNOWN" for a value that the table lacks.
template <class Enum, size_t N>
std::string_view TextOf(const Name<Enum> (&names)[N], Enum value) {
  for (const Name<Enum>& name : names) {
    if (name.value == value) return name.text;
  }
  return "UNKNOWN";
}

template <class Enum, size_t N>
std::optional<Enum> ValueOf(const Name<Enum> (&names)[N], std::string_view text) {
  for (const Name<Enum>& name : names) {
    if (name.text == text) return name.value;
  }
  return std::nullopt;
}

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_NAMES_H_
