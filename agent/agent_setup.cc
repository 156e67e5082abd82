#include "agent/agent_setup.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/device/detector.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

absl::Status CheckId(const std::string& id) {
  bool valid = !id.empty() && id.size() <= 253;
  for (const char c : id)
    valid = valid && (absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_');
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--id ", id,
      " is not a valid agent name; use at most 253 letters, digits, '.', '-' and '_'"));
}

// Excludes a second agent from the work directory while this process is running.
absl::StatusOr<base::Fd> LockFolder(const std::string& work_dir) {
  const std::string path = work_dir + "/agent.lock";
  base::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return absl::FailedPreconditionError(
      absl::StrCat("another agent is using ", work_dir,
                   "; stop it or choose another directory with --work-dir"));
}

// Fills in what tasks may use in total, unless the flags set it.
void FillInResources(AgentOptions& options) {
  if (!options.cpus) options.cpus = GetMachineCpus();
  if (!options.memory) options.memory = GetMachineMemory();
  if (options.cpus == 0) options.cpus.reset();
  if (options.memory == 0) options.memory.reset();
}

std::string JoinUrls(const std::vector<MasterAddress>& masters) {
  return absl::StrJoin(masters, ",", [](std::string* out, const MasterAddress& master) {
    absl::StrAppend(out, master.Url());
  });
}

}  // namespace

absl::StatusOr<std::vector<Device>> DetectSlots(const AgentOptions& options) {
  DetectorOptions detector{.artificial_slots = options.slots,
                           .artificial_device = options.artificial_device,
                           .artificial_islands = options.artificial_islands,
                           .slot_type = options.slot_type,
                           .visible_gpus = options.visible_gpus};
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    if (const char* value = ::getenv(name)) detector.environment_gpus = value;
  }
  return DetectDevices(detector);
}

absl::StatusOr<AgentSetup> PrepareAgent(AgentOptions options) {
  DET_RETURN_IF_ERROR(CheckId(options.id));
  DET_ASSIGN_OR_RETURN(std::vector<MasterAddress> masters, ParseMasterAddresses(options.master));
  DET_RETURN_IF_ERROR(CheckTls(masters, options.tls));
  DET_ASSIGN_OR_RETURN(std::vector<Device> devices, DetectSlots(options));
  FillInResources(options);
  if (options.address.empty()) {
    DET_ASSIGN_OR_RETURN(options.address, FindLocalAddress(masters));
  }
  std::error_code error;
  options.work_dir = std::filesystem::absolute(options.work_dir, error).lexically_normal();
  if (const absl::Status status = base::MakeDirs(options.work_dir, 0700); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(status.message(),
                                                    "; choose another directory with --work-dir"));
  }
  for (std::string* program : {&options.keeper, &options.runner}) {
    if (program == &options.runner && program->empty()) continue;
    *program = std::filesystem::absolute(*program, error);
    if (::access(program->c_str(), X_OK) != 0) {
      return absl::NotFoundError(
          absl::StrCat("program ", *program,
                       " not found; install it in the same directory as resolute-agent"));
    }
  }
  DET_ASSIGN_OR_RETURN(base::Fd lock, LockFolder(options.work_dir));
  (void)::unlink((options.work_dir + "/agent.json").c_str());
  DET_RETURN_IF_ERROR(base::MakeDirs(options.work_dir + "/cache"));

  Host host{.agent_id = options.id,
            .master_url = masters[0].Url(),
            .masters = JoinUrls(masters),
            .master_host = masters[0].host,
            .master_port = masters[0].port,
            .address = options.address,
            .sdk_dir = options.sdk_dir,
            .python_dir = options.python_dir,
            .cli_dir = options.cli_dir,
            .cache_dir = options.work_dir + "/cache",
            .devices = std::move(devices),
            .tls = {.on = masters[0].tls,
                    .authority = options.tls.authority,
                    .master_name = options.tls.master_name},
            .proxies = options.proxies};
  return AgentSetup{std::move(options), std::move(masters), std::move(host), std::move(lock)};
}

}  // namespace det::agent
