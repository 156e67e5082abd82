// The table of all fields of the master's configuration file (model/field_table.h). Used by
// config_file.cc and the reference documentation, on any thread.
#ifndef MASTER_APP_CONFIG_FIELDS_H_
#define MASTER_APP_CONFIG_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "master/app/config.h"
#include "master/core/model/field_table.h"
#include "master/core/model/value.h"

namespace det::app {

// The contents of the file, before its parts are combined.
struct FileConfig {
  // An external PostgreSQL, instead of a URL.
  struct Database {
    std::string host, user, password, name, ssl_mode, ssl_root_cert;
    int port = 5432;
  };
  struct TopologyItem {
    std::vector<std::string> agents;
    std::string network_switch;
    std::vector<std::vector<int64_t>> islands;
  };
  Config config;
  Database db;
  std::string manager_type = "agent";
  std::string password_file;
  std::string logging_type = "default";
  bool no_default_pools = false;
  model::ResourcePool scheduler;  // defaults of pools
  model::Value task_defaults;
  std::map<size_t, model::Value> pool_task_defaults;  // by the pool's index in the file
  std::vector<TopologyItem> topology;
};

const model::FieldTable& ConfigFields();  // for FileConfig

// The effective configuration in the form of the file, with secrets as "********". Without topology
// and the parts of `db`.
model::Value ToDisplayedConfig(const Config& config);

// Generates docs/reference/master-config.md.
std::string MasterConfigPage();

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_FIELDS_H_
