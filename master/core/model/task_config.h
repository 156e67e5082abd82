// The resources and the environment of a trial's processes, mounts, and the sections for batch
// schedulers; documented in docs/reference/experiment-config.md.
//
// PURE.
#ifndef MASTER_CORE_MODEL_TASK_CONFIG_H_
#define MASTER_CORE_MODEL_TASK_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "master/core/model/agent.h"
#include "master/core/model/value.h"

namespace det::model {

struct DeviceConfig {
  std::string host_path;
  std::string container_path;
  std::string mode = "mrw";
  friend bool operator==(const DeviceConfig&, const DeviceConfig&) = default;
};

// The smallest fraction of a device.
inline constexpr double kMinSlotFraction = 0.01;

struct ResourcesConfig {
  // Slots of each trial; 0 for none. With a greater max_slots_per_trial the trial is elastic: it
  // starts with as many slots as are free within the bounds, and grows or shrinks at a checkpoint.
  int slots_per_trial = 1;
  int max_slots_per_trial = 0;  // 0: exactly slots_per_trial
  double slot_fraction = 1;     // of the device; below 1 only where slots_per_trial is 1
  double cpus = 0;              // for each slot, or for a trial without slots; 0: no request
  int64_t memory = 0;           // bytes for each slot, or for a trial without slots; 0: no request
  std::optional<DeviceType> slot_type;
  std::string device;                   // part of the device's name: "H200"; empty: any
  std::optional<int64_t> max_run_time;  // maximum seconds of a trial, over all its attempts
  std::vector<std::string> blocked_agents;
  std::optional<int> max_slots;  // of the whole experiment
  double weight = 1;
  std::optional<int> priority;  // 1..99, smaller first
  std::string resource_pool;    // empty: the default pool
  bool is_single_node = false;
  std::optional<int64_t> shm_size;  // bytes
  std::vector<DeviceConfig> devices;
  bool native_parallel = false;
  friend bool operator==(const ResourcesConfig&, const ResourcesConfig&) = default;
};

// One value for each slot type; tasks without slots and on TPUs use that of `cpu`.
template <class T>
struct PerSlotType {
  T cpu, cuda, rocm;
  friend bool operator==(const PerSlotType&, const PerSlotType&) = default;
};

struct ProxyPortConfig {
  int proxy_port = 0;
  bool proxy_tcp = false;
  bool unauthenticated = false;
  bool default_service_id = false;
  friend bool operator==(const ProxyPortConfig&, const ProxyPortConfig&) = default;
};

struct RegistryAuthConfig {
  std::string username;
  std::string password;
  std::string auth;
  std::string email;
  std::string serveraddress;
  std::string identitytoken;
  std::string registrytoken;
  friend bool operator==(const RegistryAuthConfig&, const RegistryAuthConfig&) = default;
};

struct EnvironmentConfig {
  PerSlotType<std::string> image;                   // empty: the cluster's
  PerSlotType<std::vector<std::string>> variables;  // "NAME=value"; the last of a name applies
  std::vector<ProxyPortConfig> proxy_ports;
  std::map<std::string, int64_t> ports;
  bool force_pull_image = false;
  RegistryAuthConfig registry_auth;
  std::vector<std::string> add_capabilities;
  std::vector<std::string> drop_capabilities;
  Value pod_spec = Value::Object{};
  friend bool operator==(const EnvironmentConfig&, const EnvironmentConfig&) = default;
};

struct BindMountConfig {
  std::string host_path;  // absolute
  std::string container_path;
  bool read_only = false;
  std::string propagation = "rprivate";
  friend bool operator==(const BindMountConfig&, const BindMountConfig&) = default;
};

// Slurm and PBS.
struct BatchSchedulerConfig {
  std::optional<int> slots_per_node;
  std::string gpu_type;           // slurm alone
  std::vector<std::string> args;  // of sbatch, of qsub
  friend bool operator==(const BatchSchedulerConfig&, const BatchSchedulerConfig&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_TASK_CONFIG_H_
