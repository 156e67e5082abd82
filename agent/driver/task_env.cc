#include "agent/driver/task_env.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace det::agent {
namespace {

constexpr absl::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

bool IsMachineVariable(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {
      "HOME",       "USER",         "LOGNAME",       "SHELL",      "LANG",
      "TZ",         "PATH",         "TMPDIR",        "http_proxy", "https_proxy",
      "no_proxy",   "HTTP_PROXY",   "HTTPS_PROXY",   "NO_PROXY",   "LD_LIBRARY_PATH",
      "PYTHONPATH", "SSL_CERT_DIR", "SSL_CERT_FILE", "CUDA_HOME",  "DET_PYTHON_EXECUTABLE",
  };
  return absl::StartsWith(name, "LC_") || absl::StartsWith(name, "NCCL_") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Returns the devices of the task's slots, in the order of the slots.
std::vector<const Device*> GetDevices(const TaskSpec& spec, const Host& host) {
  std::vector<const Device*> devices;
  for (const int slot : spec.slots) {
    for (const Device& device : host.devices) {
      if (device.id == slot) devices.push_back(&device);
    }
  }
  return devices;
}

}  // namespace

std::vector<std::string> TaskEnv(const TaskSpec& spec, const Host& host, const TaskFolders& folders,
                                 const std::map<std::string, std::string>& inherited) {
  const std::vector<const Device*> devices = GetDevices(spec, host);
  const DeviceType type = devices.empty() ? DeviceType::kCpu : devices[0]->type;
  const bool cuda = type == DeviceType::kCuda;
  const bool rocm = type == DeviceType::kRocm;
  const bool tpu = type == DeviceType::kTpu;

  std::map<std::string, std::string> env;
  for (const auto& [name, value] : inherited) {
    if (IsMachineVariable(name)) env[name] = value;
  }
  for (const auto& [name, value] : host.proxies) {
    // A task that sets the variable, in any case, decides.
    const std::string upper = absl::AsciiStrToUpper(name);
    if (spec.env.contains(name) || spec.env.contains(upper)) continue;
    env[name] = value;
    env[upper] = value;
  }
  // Python buffers output to a pipe; the log should not lag behind the task.
  env["PYTHONUNBUFFERED"] = "1";
  // Prevents a task without GPUs from using all of them. AMD's HIP reads this variable too.
  if (!rocm) env["CUDA_VISIBLE_DEVICES"] = "";
  for (const auto& [name, value] : spec.env) env[name] = value;

  if (cuda || rocm) {
    env[cuda ? "CUDA_VISIBLE_DEVICES" : "ROCR_VISIBLE_DEVICES"] = absl::StrJoin(
        devices, ",",
        [](std::string* out, const Device* device) { absl::StrAppend(out, device->uuid); });
  }
  if (tpu) {
    env["PJRT_DEVICE"] = "TPU";
    env["TPU_VISIBLE_CHIPS"] = absl::StrJoin(spec.slots, ",");
  }
  if (env["PATH"].empty()) env["PATH"] = std::string(kDefaultPath);
  if (!host.sdk_dir.empty()) env["PATH"] = absl::StrCat(host.sdk_dir, "/bin:", env["PATH"]);
  // Appended last: the user's `det`, for example of the existing client, takes precedence.
  if (!host.cli_dir.empty()) absl::StrAppend(&env["PATH"], ":", host.cli_dir);
  // Appended last, so that packages `det` or `determined` of the machine and the user take
  // precedence.
  if (!host.python_dir.empty()) {
    std::string& path = env["PYTHONPATH"];
    path = path.empty() ? host.python_dir : absl::StrCat(path, ":", host.python_dir);
  }
  env["DET_MASTER"] = host.master_url;
  env["DET_MASTERS"] = host.masters;
  env["DET_MASTER_HOST"] = host.master_host;
  env["DET_MASTER_PORT"] = absl::StrCat(host.master_port);
  env["DET_USE_TLS"] = host.tls.on ? "true" : "false";
  if (!host.tls.authority.empty()) {
    env["DET_MASTER_CERT_FILE"] = absl::StrCat(folders.run, "/", kMasterCertificate);
  }
  if (!host.tls.master_name.empty()) env["DET_MASTER_CERT_NAME"] = host.tls.master_name;
  env["DET_CLUSTER_ID"] = host.cluster_id;
  env["DET_AGENT_ID"] = host.agent_id;
  env["DET_NODE_ADDRESS"] = host.address;
  env["DET_TASK_ID"] = spec.task_id;
  // One agent's part of an allocation corresponds to a container in Determined.
  env["DET_RESOURCES_ID"] = host.agent_id;
  env["DET_CONTAINER_ID"] = host.agent_id;
  env["DET_RESOURCES_TYPE"] = "docker-container";
  env["DET_MASTER_ADDR"] = host.master_host;
  env["DET_SEGMENT_ENABLED"] = "false";
  env["DET_ALLOCATION_ID"] = spec.allocation.value();
  env["DET_SESSION_TOKEN"] = spec.session_token;
  // The existing client signs in with DET_USER and this token, without a request.
  env["DET_USER_TOKEN"] = spec.user_token;
  env["DET_SLOT_IDS"] = absl::StrCat("[", absl::StrJoin(spec.slots, ","), "]");
  env["DET_SLOT_TYPE"] = cuda ? "cuda" : rocm ? "rocm" : tpu ? "tpu" : "cpu";
  env["DET_WORKDIR"] = folders.work;
  env["DET_RUN_DIR"] = folders.run;
  env["DET_SDK_DIR"] = host.sdk_dir;
  env["DET_CACHE_DIR"] = host.cache_dir;
  env["PWD"] = folders.work;

  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(absl::StrCat(name, "=", value));
  return list;
}

std::map<std::string, std::string> OwnEnv() {
  std::map<std::string, std::string> own;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals != absl::string_view::npos) {
      own.emplace(std::string(text.substr(0, equals)), std::string(text.substr(equals + 1)));
    }
  }
  return own;
}

}  // namespace det::agent
