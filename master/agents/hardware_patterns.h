// The built-in table of messages that drivers and libraries print when hardware is broken. A
// matching line is not a proof; the cluster disables a slot only if consecutive tasks fail on it in
// this way. Patterns that users' own errors cause are not included: out of memory, illegal
// accesses, device-side assertions.
//
// Used by log_patterns.cc.
#ifndef MASTER_AGENTS_HARDWARE_PATTERNS_H_
#define MASTER_AGENTS_HARDWARE_PATTERNS_H_

#include <span>

namespace det::agents {

// Regular expressions (RE2) that may match anywhere in a line.
std::span<const char* const> HardwarePatterns();

}  // namespace det::agents

#endif  // MASTER_AGENTS_HARDWARE_PATTERNS_H_
