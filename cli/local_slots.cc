#include "cli/local_slots.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "cli/format.h"
#include "cli/program.h"

namespace det::cli {
namespace {

// "GPU" or "TPU".
const char* GetKind(const std::vector<Accelerator>& accelerators) {
  const bool tpu = !accelerators.empty() && accelerators.front().type == "tpu";
  return tpu ? "TPU" : "GPU";
}

// "2 GPUs (NVIDIA H100)", "1 of 2 GPUs (NVIDIA H100)".
std::string Describe(const std::vector<Accelerator>& accelerators, size_t used) {
  std::vector<std::string> names;
  for (const Accelerator& each : accelerators) {
    if (std::find(names.begin(), names.end(), each.name) == names.end()) names.push_back(each.name);
  }
  const bool all = used == accelerators.size();
  return absl::StrCat(all ? "" : absl::StrCat(used, " of "),
                      FormatCount(static_cast<int64_t>(accelerators.size()), GetKind(accelerators)),
                      " (", absl::StrJoin(names, ", "), ")");
}

// Whether an agent of the cluster has GPUs, or a new one would have.
bool UsesGpus(const ClusterState& state) {
  return state.gpu || std::any_of(state.members.begin(), state.members.end(),
                                  [](const ClusterMember& member) { return !member.gpus.empty(); });
}

// Whether all GPUs of the agents are among the accelerators.
bool HasGpusOf(const std::vector<Accelerator>& accelerators, const ClusterState& state) {
  std::set<std::string> found;
  for (const Accelerator& each : accelerators) found.insert(each.uuid);
  for (const ClusterMember& member : state.members) {
    for (const std::string& gpu : member.gpus) {
      if (!found.contains(gpu)) return false;
    }
  }
  return true;
}

// "1 of 2 GPUs (NVIDIA H100), 4 CPU slots": those of the members of `state`, and of new ones if
// there are more `agents`.
std::string DescribeSlots(const std::vector<Accelerator>& accelerators, int agents,
                          const ClusterState& state) {
  size_t gpus = 0;
  int64_t cpus = 0;
  int started = 0;
  for (const ClusterMember& member : state.members) {
    if (member.name == "master") continue;
    ++started;
    gpus += member.gpus.size();
    if (member.gpus.empty()) cpus += state.slots;
  }
  const int64_t rest = int64_t{std::max(0, agents - started)} * state.slots;
  if (state.gpu) {
    gpus += static_cast<size_t>(rest);
  } else {
    cpus += rest;
  }
  std::vector<std::string> parts;
  if (gpus > 0) parts.push_back(Describe(accelerators, gpus));
  if (cpus > 0) parts.push_back(FormatCount(cpus, "CPU slot"));
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::vector<Accelerator> ParseAccelerators(const std::string& lines) {
  std::vector<Accelerator> accelerators;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits('\t', 3));
    if (parts.size() == 4 && parts[1] != "cpu") {
      accelerators.push_back({parts[1], parts[2], parts[3]});
    }
  }
  return accelerators;
}

absl::StatusOr<std::vector<Accelerator>> ListAccelerators(const std::string& agent_program) {
  base::SpawnOptions spawn;
  // The devices of the machine, whatever a configuration of agents says.
  spawn.argv = {agent_program, "--list-devices", "--config-file",
                "/dev/null",   "--slot-type",    "auto"};
  spawn.env = MakeEnvironment({});
  std::erase_if(*spawn.env, [](const std::string& each) { return absl::StartsWith(each, "DET_"); });
  spawn.out = base::Redirect::Pipe();
  spawn.err = base::Redirect::Null();
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(spawn));
  std::string lines;
  char buffer[4096];
  ssize_t count = 0;
  while ((count = read(child.out.get(), buffer, sizeof(buffer))) > 0 ||
         (count < 0 && errno == EINTR)) {
    if (count > 0) lines.append(buffer, static_cast<size_t>(count));
  }
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  if (exit.ok()) return ParseAccelerators(lines);
  return absl::InternalError(absl::StrCat("`", agent_program,
                                          " --list-devices` failed; run it for the cause, or use "
                                          "--no-gpu for CPU slots"));
}

absl::StatusOr<SlotChoice> ChooseSlots(const std::vector<Accelerator>& accelerators,
                                       const SlotRequest& request) {
  const int count = static_cast<int>(accelerators.size());
  const int agents = std::max(1, request.agents);
  const bool cpu = request.gpu == false || count == 0;
  if (cpu && request.gpu == true) {
    return absl::NotFoundError(
        "--gpu: no GPU found on this machine; check its driver with `nvidia-smi`, or leave out "
        "--gpu for CPU slots");
  }
  if (cpu) {
    const int slots = request.slots.value_or(request.cores);
    return SlotChoice{slots, false,
                      absl::StrCat(request.gpu ? "" : "no GPU found: ",
                                   FormatCount(int64_t{agents} * slots, "CPU slot"))};
  }
  const int available = count / agents;
  const int slots = request.slots.value_or(std::max(1, available));
  if (slots > available && request.slots && !request.gpu) {
    return SlotChoice{slots, false,
                      absl::StrCat(FormatCount(count, GetKind(accelerators)),
                                   count == 1 ? " is" : " are", " fewer than --slots ", slots,
                                   agents > 1 ? absl::StrCat(" of ", agents, " agents") : "", ": ",
                                   FormatCount(int64_t{agents} * slots, "CPU slot"))};
  }
  if (slots > available) {
    return absl::FailedPreconditionError(absl::StrCat(
        request.slots ? absl::StrCat("--slots ", slots) : absl::StrCat("--agents ", agents), ": ",
        FormatCount(agents, "agent"), agents == 1 ? " needs " : " need ",
        FormatCount(int64_t{agents} * slots, GetKind(accelerators)), ", and this machine has ",
        Describe(accelerators, accelerators.size()), "; use fewer, or --no-gpu for CPU slots"));
  }
  return SlotChoice{
      slots, true,
      Describe(accelerators, static_cast<size_t>(agents) * static_cast<size_t>(slots))};
}

bool NeedsAccelerators(const std::optional<bool>& gpu, const ClusterState& last) {
  if (gpu) return *gpu;
  return last.slots == 0 || UsesGpus(last);
}

absl::StatusOr<SlotChoice> ChooseSlotsAgain(const std::vector<Accelerator>& accelerators,
                                            SlotRequest request, const ClusterState& last,
                                            bool same_agents) {
  if (last.slots == 0) return ChooseSlots(accelerators, request);
  const bool same_options = request.slots.value_or(last.slots) == last.slots &&
                            request.gpu.value_or(last.gpu) == last.gpu;
  if (accelerators.empty() && !request.gpu && UsesGpus(last)) {
    return absl::FailedPreconditionError(
        "the cluster used GPUs and none is found now; start it with --no-gpu for CPU slots");
  }
  if (same_agents && same_options && HasGpusOf(accelerators, last)) {
    return SlotChoice{last.slots, last.gpu, DescribeSlots(accelerators, request.agents, last),
                      /*kept=*/true};
  }
  if (!last.gpu && !request.gpu) request.gpu = false;
  if (!last.gpu && request.gpu == false && !request.slots) request.slots = last.slots;
  return ChooseSlots(accelerators, request);
}

absl::StatusOr<std::vector<std::string>> AssignGpus(const std::vector<Accelerator>& accelerators,
                                                    const std::vector<ClusterMember>& members,
                                                    const std::string& agent, int slots) {
  std::set<std::string> used;
  for (const ClusterMember& member : members) used.insert(member.gpus.begin(), member.gpus.end());
  std::vector<std::string> free;
  for (const Accelerator& each : accelerators) {
    if (!used.contains(each.uuid)) free.push_back(each.uuid);
  }
  if (free.size() >= static_cast<size_t>(slots)) {
    free.resize(static_cast<size_t>(slots));
    return free;
  }
  return absl::FailedPreconditionError(absl::StrCat(
      agent, " needs ", FormatCount(slots, GetKind(accelerators)), ", and ", free.size(), " of ",
      accelerators.size(),
      " are free; use --no-gpu for CPU slots, or stop the cluster with `det deploy local down` and "
      "start it with more --agents or fewer --slots"));
}

}  // namespace det::cli
