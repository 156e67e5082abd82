// Helpers shared by the sources of credentials.
#ifndef BASE_OBJECTS_CREDENTIAL_UTIL_H_
#define BASE_OBJECTS_CREDENTIAL_UTIL_H_

#include <cstdlib>
#include <string>

#include "absl/time/time.h"

namespace det::objects {

// Temporary credentials are renewed this long before they expire.
inline constexpr absl::Duration kRenewBefore = absl::Minutes(2);

// Returns an environment variable; `default_value` if it is not set or empty.
inline std::string GetEnv(const char* name, const std::string& default_value = "") {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? default_value : value;
}

// Returns a string member of a JSON object; empty if it is missing or not a string.
template <class Json>
std::string GetString(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && it->is_string() ? it->template get<std::string>() : "";
}

}  // namespace det::objects

#endif  // BASE_OBJECTS_CREDENTIAL_UTIL_H_
