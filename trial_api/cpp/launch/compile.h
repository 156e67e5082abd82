// Compiles a user's source to a program that runs its Trial class, once per content. Called by the
// launcher on the main thread; several launchers of a machine may need the same program at the same
// time: one compiles it, the others wait.
#ifndef TRIAL_API_CPP_LAUNCH_COMPILE_H_
#define TRIAL_API_CPP_LAUNCH_COMPILE_H_

#include <string>
#include <vector>

#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

// The user's code is invalid; a restart would fail again.
class InvalidCode : public Error {
 public:
  using Error::Error;
};

struct CompileRequest {
  std::string context_dir;  // absolute
  std::string source;       // relative to context_dir
  std::string class_name;
  std::string sdk_dir;
  std::string cache_dir;
  std::string compiler = "g++";
  std::string more_compile_flags;  // flags of the user, separated by spaces
  std::string more_link_flags;
};

// Returns the path of the program. The compiler's output is copied to stderr. Throws InvalidCode if
// the source is missing or does not compile, Error for failures of the machine, and Stopped. If the
// class is missing, its name is printed to stderr before the compiler's output.
std::string Compile(const CompileRequest& request, Signals& signals);

// Returns the first error in a compiler's output, with its location; empty if there is none.
std::string FirstError(const std::string& compiler_output);

// Returns a hash of everything that determines the program.
std::string CacheKey(const CompileRequest& request);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_COMPILE_H_
