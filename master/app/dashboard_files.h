// The dashboard's files, and where they lie when nobody says.
//
// For master.cc, at start.
#ifndef MASTER_APP_DASHBOARD_FILES_H_
#define MASTER_APP_DASHBOARD_FILES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "master/gateway/static_files.h"

namespace det::app {

// Those of `folder` (--webui). If it is empty, of webui/ beside this program's file, of
// ../webui/dist (where Bazel builds it) or of ../share/resolute/webui; nullptr if there are none: a
// master does its work without.
absl::StatusOr<std::shared_ptr<const gateway::StaticFiles>> ReadPages(const std::string& folder);

}  // namespace det::app

#endif  // MASTER_APP_DASHBOARD_FILES_H_
