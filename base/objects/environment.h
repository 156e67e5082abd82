// What the sources of credentials have in common.
#ifndef BASE_OBJECTS_ENVIRONMENT_H_
#define BASE_OBJECTS_ENVIRONMENT_H_

#include <cstdlib>
#include <string>

#include "absl/time/time.h"

namespace det::objects {

// What is lent for a while is asked for again so long before its end.
inline constexpr absl::Duration kRenewBefore = absl::Minutes(2);

// A variable of the environment; `otherwise` where it is not set, or empty.
inline std::string Environment(const char* name, const std::string& otherwise = "") {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// A member of a JSON object that is text; empty if it is none.
template <class Json>
std::string TextOf(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->template get<std::string>() : "";
}

}  // namespace det::objects

#endif  // BASE_OBJECTS_ENVIRONMENT_H_
