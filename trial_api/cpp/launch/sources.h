// Finds the source files of a Trial in a context directory. Called by compile.cc, on the main
// thread; only reads files. Throws std::filesystem::filesystem_error, and Error for a file that
// cannot be read.
#ifndef TRIAL_API_CPP_LAUNCH_SOURCES_H_
#define TRIAL_API_CPP_LAUNCH_SOURCES_H_

#include <string>
#include <vector>

namespace det::launch {

// Returns all C++ files below `context_dir`, relative to it, sorted.
std::vector<std::string> CodeFiles(const std::string& context_dir);

// Returns the sources to compile together with `source`, relative to `context_dir`, sorted: for
// each header that `source` includes with #include "...", directly or indirectly, the source with
// the same name in the same directory (net.h: net.cc), and those that this source needs in turn. A
// source that is itself included is part of the source that includes it.
std::vector<std::string> PairedSources(const std::string& context_dir, const std::string& source);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_SOURCES_H_
