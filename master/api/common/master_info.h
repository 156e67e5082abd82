// The identity and configuration of this master and its cluster; constant once the master has
// started.
#ifndef MASTER_API_COMMON_MASTER_INFO_H_
#define MASTER_API_COMMON_MASTER_INFO_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/value.h"

namespace det::api {

struct MasterInfo {
  std::string version;
  std::string master_id;  // identifies this process
  std::string cluster_id;
  std::string cluster_name;
  std::string database;  // "embedded" or "external"
  absl::Time started_at;
  std::vector<std::string> feature_switches;
  model::Value config;  // the master's configuration, without secrets
  int log_days =
      -1;  // days that log lines are kept unless an experiment says otherwise; -1: forever
};

}  // namespace det::api

#endif  // MASTER_API_COMMON_MASTER_INFO_H_
