// The forms of an entrypoint: a Trial class in a C++ source or a Python module, or a command.
// Called by parse, cluster and the API services, on any thread. Reads no files. PURE.
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

// Parses "file.cc:Class" (.cc, .cpp or .cxx; one word); nullopt for any other string and for a
// list.
std::optional<TrialEntrypoint> ParseTrialEntrypoint(const Entrypoint& entrypoint);

// Whether the entrypoint is one word "module:Class" that does not name a C++ source.
bool IsPythonEntrypoint(const Entrypoint& entrypoint);

// Returns the command that Determined runs for such a name: its launcher, in the agent's Python.
// REQUIRES IsPythonEntrypoint.
std::vector<std::string> PythonTrialCommand(const Entrypoint& entrypoint);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ENTRYPOINT_H_
