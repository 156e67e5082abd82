// The master's configuration: its flags, and the file of --config (config_file.h).
//
// Parsed by main.cc once, before anything starts; read by master.cc.
#ifndef MASTER_APP_CONFIG_H_
#define MASTER_APP_CONFIG_H_

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "master/agents/topology.h"
#include "master/core/model/resource_pool.h"
#include "master/core/model/storage_config.h"
#include "master/core/model/task_defaults.h"
#include "master/core/model/value.h"

namespace det::app {

// Durations of the leader's lease (lease.h).
struct LeaseTimes {
  absl::Duration renew_every = absl::Seconds(2);
  absl::Duration length = absl::Seconds(6);
};

// What decides what users may do (docs/api.md).
struct AuthzOptions {
  std::string type = "rbac";
  bool rbac_ui_enabled = false;  // with type basic
  bool strict_job_queue = false;
  // The role that the user who creates a workspace gets in it, unless switched off.
  bool assign_role_to_creator = true;
  int creator_role = 2;
};

struct Config {
  std::string data_dir;
  std::string bind = "127.0.0.1";
  int port = 8080;  // 0: any free port; the default with TLS is 8443
  // PEM files; the first two together, or none: plaintext (docs/security.md).
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;  // authority of agents' certificates; empty: not required
  std::string webui;          // folder of the dashboard; empty: beside the program, if present
  std::string db_url;         // empty: an embedded PostgreSQL
  // Default for experiments; without a host_path it is <data_dir>/checkpoints.
  model::CheckpointStorageConfig checkpoint_storage;
  std::vector<std::string>
      checkpoint_roots;  // where users may store checkpoints; empty: see --help
  std::string cluster_name;
  std::string admin_password;       // to set; empty: unchanged
  std::string user_password;        // of user determined; empty: unchanged
  bool generate_passwords = false;  // for users without a password (auth/bootstrap.h)
  bool allow_blank_passwords = false;
  AuthzOptions authz;
  absl::Duration agent_reconnect_timeout = absl::Hours(1);
  bool standby = false;  // wait until the leader's lease expires
  LeaseTimes lease;
  // Limits of one call, one token and one user.
  int max_body_mib = 128;
  int requests_per_second = 1000;
  int streams_per_user = 100;
  int tasks_per_user = 0;        // live notebooks, shells and TensorBoards; 0: no limit
  int notebook_timeout = 0;      // default of idle_timeout in seconds; 0: none
  int tensorboard_timeout = 300;
  std::vector<std::string> allow_origins;  // CORS origins
  std::vector<std::string> feature_switches;
  bool direct_proxy = false;                  // connect to the addresses of agents
  std::string webhook_signing_key;            // empty: generated once and stored
  std::string webhook_base_url;               // public URL of the cluster; may be empty
  bool webhook_allow_private = false;         // deliver to all addresses
  std::vector<std::string> webhook_networks;  // deliver also to these networks
  int log_days = -1;    // days to keep logs after the end of a trial; -1: forever
  int audit_days = -1;  // days to keep audit records; -1: forever
  bool log_json = false;
  std::string log_level = "info";
  std::vector<model::ResourcePool> resource_pools;
  std::string default_compute_pool = "default";
  std::string default_aux_pool = "default";
  bool launch_error = true;  // refuse experiments that exceed the capacity of their pool
  std::vector<model::Quota> quotas;
  model::TaskDefaults task_defaults;
  // The same as written, without what has no effect: by pool; "" for the cluster.
  std::map<std::string, model::Value> displayed_task_defaults;
  agents::Topology topology;
  std::vector<std::string> warnings;  // from the file; to log
};

// `resolute-master backup|restore FILE` (backup.h).
struct BackupOrder {
  bool restore = false;
  std::string data_dir;
  std::string file;
  bool replace = false;
};

// What the command line requests: to run, to back up or restore, or to exit with a code after
// printing something.
struct Exit {
  int code = 0;
};
std::variant<Config, BackupOrder, Exit> ParseFlags(int argc, char** argv);

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_H_
