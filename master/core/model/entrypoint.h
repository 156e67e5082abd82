// The shapes of an entrypoint: a Trial class in a C++ source or a Python module, or a command.
// Called by model/parse, cluster and service, on any thread. Never looks at files. PURE.
#ifndef MASTER_CORE_MODEL_ENTRYPOINT_H_
#define MASTER_CORE_MODEL_ENTRYPOINT_H_

#include <optional>
#include <string>
#include <vector>

#include "master/core/model/experiment_config.h"

namespace det::model {

struct TrialEntrypoint {
  std::string file;        // relative to the context directory: "net/fashion_mnist.cc"
  std::string class_name;  // "FashionMnistTrial", "my::Trial"
  friend bool operator==(const TrialEntrypoint&, const TrialEntrypoint&) = default;
};

// "file.cc:Class" (.cc, .cpp or .cxx; one word); nothing for any other string and for a list.
std::optional<TrialEntrypoint> ParseTrialEntrypoint(const Entrypoint& entrypoint);

// Whether it is one word "module:Class" of no C++ source: the name of a Python class.
bool IsPythonEntrypoint(const Entrypoint& entrypoint);

// What older versions run for such a name: their launcher, as the agent's Python finds it.
// REQUIRES IsPythonEntrypoint.
std::vector<std::string> PythonTrialCommand(const Entrypoint& entrypoint);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ENTRYPOINT_H_
