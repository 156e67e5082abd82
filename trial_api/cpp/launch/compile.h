// From a user's source to a program that runs its Trial class, once per content. Called by the
// launcher on the main thread; several launchers of a machine may ask for the same program at once:
// one compiles, the others wait for it.
#ifndef TRIAL_API_CPP_LAUNCH_COMPILE_H_
#define TRIAL_API_CPP_LAUNCH_COMPILE_H_

#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

// The user's code cannot run, here or elsewhere, now or later.
class InvalidCode : public Error {
 public:
  using Error::Error;
};

struct CompileRequest {
  std::string context_dir;  // absolute
  std::string source;       // below context_dir
  std::string class_name;
  std::string sdk_dir;
  std::string cache_dir;
  std::string compiler = "g++";
  std::string more_compile_flags;  // of the user, parted by spaces
  std::string more_link_flags;
};

// The path of the program. What the compiler says goes to stderr as it is. Throws InvalidCode when
// the source is missing or does not compile, Error when the machine is at fault, Stopped. A class
// that is missing is named on stderr before the compiler's lines.
std::string Compile(const CompileRequest& request, Signals& signals);

// The lines of a compiler's output that are errors start with "error:" after a place; the first
// one, with its place. Empty without any.
std::string FirstError(const std::string& compiler_output);

// A hash of all that the program is made of.
std::string CacheKey(const CompileRequest& request);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_COMPILE_H_
