// Every field of the master's configuration file in one table (model/field_table.h).
// Used by config_file.cc and the page of the documentation, on any thread.
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

// The file as it was written, before its parts are put together.
struct FileConfig {
  // Of a PostgreSQL elsewhere, instead of its URL.
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
  model::ResourcePool scheduler;  // what pools inherit
  model::Value task_defaults;
  std::map<size_t, model::Value> pool_task_defaults;  // by the pool's place in the file
  std::vector<TopologyItem> topology;
};

const model::FieldTable& ConfigFields();  // of FileConfig

// What a master was started with, as the file has it, with secrets as "********". Without topology
// and what the parts of `db` were.
model::Value ShownConfig(const Config& config);

// docs/reference/master-config.md
std::string MasterConfigPage();

}  // namespace det::app

#endif  // MASTER_APP_CONFIG_FIELDS_H_
