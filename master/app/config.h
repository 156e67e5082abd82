// The master's own configuration: its flags, and the file that --config names (config_file.h).
//
// Parsed by main.cc once, before anything starts; read by master.cc.
#ifndef MASTER_APP_CONFIG_H_
#define MASTER_APP_CONFIG_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "master/agents/topology.h"
#include "master/app/lease_times.h"
#include "master/core/model/resource_pool.h"
#include "master/core/model/storage_config.h"
#include "master/core/model/task_defaults.h"

namespace det::app {

struct Config {
  std::string data_dir;
  std::string bind = "127.0.0.1";
  int port = 8080;  // 0: any free one; with TLS 8443 unless it is said
  // PEM files; the first two together, or none: no TLS (docs/security.md).
  std::string tls_cert;
  std::string tls_key;
  std::string tls_client_ca;  // by whom agents' certificates are; empty: they need none
  std::string webui;          // folder of the dashboard; empty: beside the program, if there
  std::string db_url;         // empty: an embedded PostgreSQL
  // Of experiments that do not say; without a host_path it is <data_dir>/checkpoints.
  model::CheckpointStorageConfig checkpoint_storage;
  std::vector<std::string> checkpoint_roots;  // where users may keep theirs; empty: see --help
  std::string cluster_name;
  std::string admin_password;   // to be set; empty: as it is
  std::string user_password;    // of user determined; the same
  bool make_passwords = false;  // for users who have none yet: auth/first_start.h
  bool allow_blank_passwords = false;
  absl::Duration agent_patience = absl::Hours(1);
  bool standby = false;  // wait until the leader's lease is over
  LeaseTimes lease;
  // Of one call, of one token, of one user.
  int max_body_mib = 128;
  int requests_per_second = 1000;
  int streams_per_user = 100;
  std::vector<std::string> allow_origins;     // whose pages may call
  std::string webhook_signing_key;            // empty: made once and kept
  std::string webhook_base_url;               // where people open this cluster; may be empty
  bool webhook_allow_private = false;         // deliver to addresses of any kind
  std::vector<std::string> webhook_networks;  // or to these
  int log_days = -1;    // for which logs are kept after their trial's end; -1: for ever
  int audit_days = -1;  // the same of audit records
  bool log_json = false;
  std::string log_level = "info";
  std::vector<model::ResourcePool> resource_pools;
  std::string default_compute_pool = "default";
  std::string default_aux_pool = "default";
  std::vector<model::Quota> quotas;
  model::TaskDefaults task_defaults;
  agents::Topology topology;
  std::vector<std::string> warnings;  // of the file; to be logged
};

// `resolute-master backup|restore FILE` (backup.h).
struct BackupOrder {
  bool restore = false;
  std::string data_dir;
  std::string file;
  bool replace = false;
};

// What the command line asks for: to run, to back up or restore, or to print something and end with
// a code.
struct Exit {
  int code = 0;
};
std::variant<Config, BackupOrder, Exit> ParseFlags(int argc, char** argv);

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_H_
