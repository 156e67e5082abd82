// Finds and reads the dashboard's files.
//
// For master.cc, at start.
#ifndef MASTER_APP_DASHBOARD_FILES_H_
#define MASTER_APP_DASHBOARD_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "master/gateway/static_files.h"

namespace det::app {

// Reads the files of `folder` (--webui). If it is empty, tries webui/ beside the program,
// ../webui/dist (where Bazel builds it) and ../share/resolute/webui; nullptr if there are none: the
// master works without a dashboard.
absl::StatusOr<std::shared_ptr<const gateway::StaticFiles>> ReadPages(const std::string& folder);

}  // namespace det::app

#endif  // MASTER_APP_DASHBOARD_FILES_H_
