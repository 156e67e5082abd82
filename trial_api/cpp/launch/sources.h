// Which files of a context directory make up a Trial. Called by compile.cc, on the main thread;
// reads files, never changes one. Throws std::filesystem::filesystem_error, and Error for a file
// that cannot be read.
#ifndef TRIAL_API_CPP_LAUNCH_SOURCES_H_
#define TRIAL_API_CPP_LAUNCH_SOURCES_H_

#include <string>
#include <vector>

namespace det::launch {

// All C++ files below `context_dir`, relative to it, sorted.
std::vector<std::string> CodeFiles(const std::string& context_dir);

// The sources that are compiled beside `source`, relative to `context_dir`, sorted: for each header
// that is reached from it by #include "...", the source beside the header that has its name
// (net.h: net.cc), and those that such a source reaches in turn. A source that is itself included
// is part of the one that includes it.
std::vector<std::string> PairedSources(const std::string& context_dir, const std::string& source);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_SOURCES_H_
