// The slots of a local cluster: GPUs and other accelerators of this machine, or CPU slots. Used by
// local_cluster. Only ListAccelerators() looks at the machine.
#ifndef CLI_LOCAL_SLOTS_H_
#define CLI_LOCAL_SLOTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/cluster_file.h"

namespace det::cli {

struct Accelerator {
  std::string type;  // "cuda", "rocm", "tpu"
  std::string uuid;
  std::string name;  // "NVIDIA H100"
};

// Runs the agent program, which detects devices, and returns the accelerators; empty if there are
// none. Variables such as CUDA_VISIBLE_DEVICES limit them.
absl::StatusOr<std::vector<Accelerator>> ListAccelerators(const std::string& agent_program);

// Reads the lines of `resolute-agent --list-devices`; a CPU is not an accelerator.
std::vector<Accelerator> ParseAccelerators(const std::string& lines);

struct SlotRequest {
  int agents = 1;
  // For each agent; default: all accelerators, or one per CPU core.
  std::optional<int> slots = std::nullopt;
  std::optional<bool> gpu = std::nullopt;  // default: if there are accelerators
  int cores = 1;
};

struct SlotChoice {
  int slots = 0;     // of each agent
  bool gpu = false;  // slots are accelerators
  std::string text;  // "2 GPUs (NVIDIA H100)", "no GPU found: 4 CPU slots"
  bool kept = false;  // the agents keep the slots that they had
};

// Returns CPU slots if more slots are requested than there are GPUs. Returns NOT_FOUND if GPUs are
// requested and there are none, FAILED_PRECONDITION with instructions if there are too few.
absl::StatusOr<SlotChoice> ChooseSlots(const std::vector<Accelerator>& accelerators,
                                       const SlotRequest& request);

// Same for a cluster that is started again. `last` is its state when it was last used, with slots 0
// if it is new; unset options keep its values. If `same_agents` are started and no option differs,
// each keeps its own slots. Returns FAILED_PRECONDITION with instructions if it used GPUs and no
// accelerator is found.
absl::StatusOr<SlotChoice> ChooseSlotsAgain(const std::vector<Accelerator>& accelerators,
                                            SlotRequest request, const ClusterState& last,
                                            bool same_agents);

// Whether ChooseSlotsAgain() needs the accelerators.
bool NeedsAccelerators(const std::optional<bool>& gpu, const ClusterState& last);

// Returns the UUIDs of `slots` accelerators that no member has. Returns FAILED_PRECONDITION with
// instructions if there are fewer.
absl::StatusOr<std::vector<std::string>> AssignGpus(const std::vector<Accelerator>& accelerators,
                                                    const std::vector<ClusterMember>& members,
                                                    const std::string& agent, int slots);

}  // namespace det::cli

#endif  // CLI_LOCAL_SLOTS_H_
