// The identity and configuration of this master and its cluster; constant once the master has
// started.
#ifndef MASTER_API_COMMON_MASTER_INFO_H_
#define MASTER_API_COMMON_MASTER_INFO_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/value.h"

namespace det::api {

// The version of Determined whose API this master serves. Its clients warn about an older one.
inline constexpr char kCompatibleVersion[] = "0.38.1";

struct MasterInfo {
  std::string version;    // of Resolute
  std::string master_id;  // identifies this process
  std::string cluster_id;
  std::string cluster_name;
  bool rbac_enabled = true;       // clients offer to manage groups and roles
  bool strict_job_queue = false;  // only administrators change the queue
  std::string database;           // "embedded" or "external"
  absl::Time started_at;
  std::vector<std::string> feature_switches;
  model::Value config;  // the master's configuration, without secrets
  int log_days =
      -1;  // days that log lines are kept unless an experiment says otherwise; -1: forever
};

}  // namespace det::api

#endif  // MASTER_API_COMMON_MASTER_INFO_H_
