#include "agent/parts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
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
  bool good = !id.empty() && id.size() <= 253;
  for (const char c : id)
    good = good && (absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_');
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--id ", id, " is no name for an agent; use letters, digits, '.', '-' and '_'"));
}

// Keeps a second agent out of the folder, as long as this process lives.
absl::StatusOr<base::Fd> LockFolder(const std::string& work_dir) {
  const std::string path = work_dir + "/agent.lock";
  base::Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return absl::FailedPreconditionError(absl::StrCat(
      "another agent uses ", work_dir, "; stop it or choose another folder with --work-dir"));
}

// What tasks may use together, unless the flags say it.
void CountMachine(AgentOptions& options) {
  if (!options.cpus) options.cpus = MachineCpus();
  if (!options.memory) options.memory = MachineMemory();
  if (options.cpus == 0) options.cpus.reset();
  if (options.memory == 0) options.memory.reset();
}

std::string Urls(const std::vector<MasterAddress>& masters) {
  return absl::StrJoin(masters, ",", [](std::string* out, const MasterAddress& master) {
    absl::StrAppend(out, master.Url());
  });
}

}  // namespace

absl::StatusOr<Parts> Prepare(AgentOptions options) {
  DET_RETURN_IF_ERROR(CheckId(options.id));
  DET_ASSIGN_OR_RETURN(std::vector<MasterAddress> masters, ParseMasterAddresses(options.master));
  DET_RETURN_IF_ERROR(CheckTls(masters, options.tls));
  DET_ASSIGN_OR_RETURN(std::vector<Device> devices,
                       DetectDevices({.artificial_slots = options.slots,
                                      .artificial_device = options.artificial_device,
                                      .artificial_islands = options.artificial_islands}));
  CountMachine(options);
  if (options.address.empty()) {
    DET_ASSIGN_OR_RETURN(options.address, LocalAddressTowards(masters));
  }
  std::error_code error;
  options.work_dir = std::filesystem::absolute(options.work_dir, error).lexically_normal();
  if (const absl::Status made = base::MakeDirs(options.work_dir, 0700); !made.ok()) {
    return absl::Status(made.code(),
                        absl::StrCat(made.message(), "; choose another folder with --work-dir"));
  }
  options.keeper = std::filesystem::absolute(options.keeper, error);
  if (::access(options.keeper.c_str(), X_OK) != 0) {
    return absl::NotFoundError(
        absl::StrCat("there is no program ", options.keeper, "; it belongs beside resolute-agent"));
  }
  DET_ASSIGN_OR_RETURN(base::Fd lock, LockFolder(options.work_dir));
  (void)::unlink((options.work_dir + "/agent.json").c_str());
  DET_RETURN_IF_ERROR(base::MakeDirs(options.work_dir + "/cache"));

  Host host{.agent_id = options.id,
            .master_url = masters[0].Url(),
            .masters = Urls(masters),
            .master_host = masters[0].host,
            .master_port = masters[0].port,
            .address = options.address,
            .sdk_dir = options.sdk_dir,
            .python_dir = options.python_dir,
            .cache_dir = options.work_dir + "/cache",
            .devices = std::move(devices),
            .tls = {.on = masters[0].tls,
                    .authority = options.tls.authority,
                    .master_name = options.tls.master_name}};
  return Parts{std::move(options), std::move(masters), std::move(host), std::move(lock)};
}

}  // namespace det::agent
