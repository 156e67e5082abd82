// Random UUIDs (version 4, RFC 4122), from the system's own randomness.
// Called by edges that name checkpoints, tokens, requests; on any thread. Never repeats a seed: not
// for PURE code, which must replay.
#ifndef BASE_UUID_H_
#define BASE_UUID_H_

#include <string>
#include <string_view>

namespace det::base {

// As "0b2f6c1e-7a54-4d0b-9c3e-5f2a1d8e7b60".
std::string NewUuid();

// Whether `text` has the form of a UUID in lower case, of any version.
bool IsUuid(std::string_view text);

}  // namespace det::base

#endif  // BASE_UUID_H_
