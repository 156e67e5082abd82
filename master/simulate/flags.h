// The command line of resolute-simulate. Called by main.
#ifndef MASTER_SIMULATE_FLAGS_H_
#define MASTER_SIMULATE_FLAGS_H_

#include <string>
#include <variant>

#include "master/simulate/simulation.h"
#include "master/simulate/trace.h"

namespace det::simulate {

enum class Command { kSchedule, kCluster, kWorkload };

struct Flags {
  Command command = Command::kCluster;
  bool json = false;
  std::string snapshot;   // a file; "-": stdin
  std::string workload;   // a file; "-": stdin; empty: a synthetic workload
  std::string jobs_file;  // output file for the outcome of each job; empty: none
  Options options;
  TraceOptions trace;
};
// The process ends with this code; all output was printed.
struct Exit {
  int code = 0;
};

std::variant<Flags, Exit> ParseFlags(int argc, char** argv);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_FLAGS_H_
