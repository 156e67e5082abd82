// What broken hardware makes drivers and libraries say: the built-in table. A line that matches is
// no proof; the cluster takes a slot away only where its tasks fail so in a row. So a pattern is
// here only if users' own mistakes do not bring it about: no memory that ran out, no illegal
// access, no assertion on the device.
//
// Used by log_patterns.cc.
#ifndef MASTER_AGENTS_HARDWARE_PATTERNS_H_
#define MASTER_AGENTS_HARDWARE_PATTERNS_H_

#include <span>

namespace det::agents {

// Regular expressions (RE2), looked for anywhere in a line.
std::span<const char* const> HardwarePatterns();

}  // namespace det::agents

#endif  // MASTER_AGENTS_HARDWARE_PATTERNS_H_
