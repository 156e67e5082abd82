#include "agent/driver/library_files.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

std::string Quote(absl::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (absl::ascii_iscntrl(c)) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return quoted;
}

std::string GetEnvOrEmpty(const TaskSpec& spec, const std::string& name) {
  const auto found = spec.env.find(name);
  return found == spec.env.end() ? std::string() : found->second;
}

std::string QuoteOrNull(absl::string_view text) { return text.empty() ? "null" : Quote(text); }

std::string ClusterJson(const TaskSpec& spec, const Host& host, const TaskFolders& folders) {
  const std::string certificate = host.tls.authority.empty()
                                      ? std::string()
                                      : absl::StrCat(folders.run, "/", kMasterCertificate);
  return absl::StrCat(
      "{\"master_url\": ", Quote(host.master_url), ", \"cluster_id\": ", Quote(host.cluster_id),
      ", \"agent_id\": ", Quote(host.agent_id), ", \"slot_ids\": [", absl::StrJoin(spec.slots, ","),
      "], \"task_id\": ", Quote(spec.task_id),
      ", \"allocation_id\": ", Quote(spec.allocation.value()),
      ", \"session_token\": ", Quote(spec.session_token),
      ", \"task_type\": ", Quote(GetEnvOrEmpty(spec, "DET_TASK_TYPE")),
      ", \"master_cert_file\": ", QuoteOrNull(certificate),
      ", \"master_cert_name\": ", QuoteOrNull(host.tls.master_name),
      ", \"latest_checkpoint\": ", QuoteOrNull(GetEnvOrEmpty(spec, "DET_LATEST_CHECKPOINT")),
      "}\n");
}

std::string ResourcesJson(const TaskSpec& spec, const Host& host) {
  std::vector<std::string> uuids;
  for (const int slot : spec.slots) {
    for (const Device& device : host.devices) {
      if (device.id == slot && device.type != DeviceType::kCpu) {
        uuids.push_back(Quote(device.uuid));
      }
    }
  }
  return absl::StrCat("{\"gpu_uuids\": [", absl::StrJoin(uuids, ", "), "]}\n");
}

absl::Status Link(const std::string& target, const std::string& path) {
  if (::symlink(target.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot create the symbolic link ", path));
}

}  // namespace

absl::StatusOr<LibraryMountPoints> PrepareLibraryMountPoints() {
  LibraryMountPoints mount_points{.run = "/run/determined", .shared_fs = "/determined_shared_fs"};
  base::SpawnOptions probe{.argv = {"true"}, .out = base::Redirect::Null()};
  for (const std::string& place : {mount_points.run, mount_points.shared_fs}) {
    DET_RETURN_IF_ERROR(base::MakeDirs(place, 0755));
    probe.mounts.push_back({.from = place, .to = place});
  }
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(probe));
  DET_RETURN_IF_ERROR(base::WaitForExit(child.pid).status());
  return mount_points;
}

std::string GetLibraryFolder(const TaskFolders& folders) { return folders.run + "/determined"; }

std::string GetModelFolder(const TaskFolders& folders) {
  return GetLibraryFolder(folders) + "/train/model";
}

absl::Status WriteLibraryFiles(const TaskSpec& spec, const Host& host, const TaskFolders& folders) {
  const std::string top = GetLibraryFolder(folders);
  for (const char* folder : {"/info", "/pythonuserbase", "/train/logs"}) {
    DET_RETURN_IF_ERROR(base::MakeDirs(top + folder));
  }
  DET_RETURN_IF_ERROR(base::MakeDirs(GetModelFolder(folders)));
  DET_RETURN_IF_ERROR(Link(folders.work, top + "/workdir"));
  // Output that ranks write there becomes part of the task's log.
  DET_RETURN_IF_ERROR(Link("/proc/self/fd/1", top + "/train/logs/stdout.log"));
  DET_RETURN_IF_ERROR(Link("/proc/self/fd/2", top + "/train/logs/stderr.log"));
  DET_RETURN_IF_ERROR(
      base::WriteFile(top + "/info/cluster.json", ClusterJson(spec, host, folders), 0600));
  return base::WriteFile(top + "/info/resources.json", ResourcesJson(spec, host), 0600);
}

std::vector<std::string> WithStartupHook(std::vector<std::string> argv,
                                         const TaskFolders& folders) {
  if (::access((folders.work + "/startup-hook.sh").c_str(), R_OK) != 0) return argv;
  const char* shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  constexpr char kScript[] = "set -e; . ./startup-hook.sh; set +e; exec \"$@\"";
  argv.insert(argv.begin(), {shell, "-c", kScript, "task"});
  return argv;
}

absl::StatusOr<std::vector<base::Mount>> GetMounts(const TaskSpec& spec, const TaskFolders& folders,
                                                   const LibraryMountPoints& mount_points) {
  std::vector<base::Mount> mounts;
  if (mount_points.run.empty()) return mounts;
  // Created again, because they may have been removed.
  for (const std::string& place : {mount_points.run, mount_points.shared_fs}) {
    DET_RETURN_IF_ERROR(base::MakeDirs(place, 0755));
  }
  mounts.push_back({.from = GetLibraryFolder(folders), .to = mount_points.run});
  const std::string shared = GetEnvOrEmpty(spec, "DET_SHARED_FS_HOST_PATH");
  if (shared.empty()) return mounts;
  DET_RETURN_IF_ERROR(base::MakeDirs(shared));
  mounts.push_back({.from = shared, .to = mount_points.shared_fs});
  return mounts;
}

}  // namespace det::agent
