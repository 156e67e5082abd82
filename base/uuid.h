// Random UUIDs (version 4, RFC 4122), from the system's random number generator. Used to name
// checkpoints, tokens and requests, on any thread. Not for PURE code, which must be reproducible.
#ifndef BASE_UUID_H_
#define BASE_UUID_H_

#include <string>
#include <string_view>

namespace det::base {

// Returns a UUID such as "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60".
std::string NewUuid();

// Returns whether `text` has the form of a UUID in lower case, of any version.
bool IsUuid(std::string_view text);

}  // namespace det::base

#endif  // BASE_UUID_H_
