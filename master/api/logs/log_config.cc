#include "master/api/logs/log_config.h"

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

// The master's log has four levels. TRACE and CRITICAL are mapped to the nearest of them.
std::optional<base::LogLevel> LevelFromProto(v1::LogLevel level) {
  switch (level) {
    case v1::LOG_LEVEL_TRACE:
    case v1::LOG_LEVEL_DEBUG:
      return base::LogLevel::kDebug;
    case v1::LOG_LEVEL_INFO:
      return base::LogLevel::kInfo;
    case v1::LOG_LEVEL_WARNING:
      return base::LogLevel::kWarning;
    case v1::LOG_LEVEL_ERROR:
    case v1::LOG_LEVEL_CRITICAL:
      return base::LogLevel::kError;
    default:
      return std::nullopt;
  }
}

// Returns the name of the level in the configuration file.
const char* GetName(base::LogLevel level) {
  switch (level) {
    case base::LogLevel::kDebug:
      return "debug";
    case base::LogLevel::kInfo:
      return "info";
    case base::LogLevel::kWarning:
      return "warning";
    case base::LogLevel::kError:
      return "error";
  }
  return "";
}

struct RequestedChanges {
  bool level = false;
  bool color = false;
};

absl::StatusOr<RequestedChanges> ReadMask(const v1::PatchMasterConfigRequest& request) {
  const v1::LogConfig& log = request.config().log();
  RequestedChanges requested;
  for (const std::string& path : request.field_mask().paths()) {
    if (path != "log" && path != "log.level" && path != "log.color") {
      return absl::InvalidArgumentError(
          absl::StrCat("field_mask: cannot change \"", path, "\" while the master is running; ",
                       "only log.level can change; set other fields in the configuration file"));
    }
    requested.level |= path == "log.level" || (path == "log" && log.level() != 0);
    requested.color |= path != "log.level";
  }
  if (request.field_mask().paths().empty()) {
    requested = {.level = log.level() != v1::LOG_LEVEL_UNSPECIFIED, .color = log.color()};
  }
  return requested;
}

}  // namespace

absl::Status PatchLog(const v1::PatchMasterConfigRequest& request) {
  const v1::LogConfig& log = request.config().log();
  DET_ASSIGN_OR_RETURN(const RequestedChanges requested, ReadMask(request));
  if (requested.color && log.color()) {
    return absl::FailedPreconditionError(
        "log.color: colored logs are not supported; the log is plain text, or JSON if log.json is "
        "set in the configuration file");
  }
  if (!requested.level) return absl::OkStatus();
  const std::optional<base::LogLevel> level = LevelFromProto(log.level());
  if (!level) {
    return absl::InvalidArgumentError(
        "log.level: expected LOG_LEVEL_TRACE, DEBUG, INFO, WARNING, ERROR or CRITICAL");
  }
  base::SetLogLevel(*level);
  return absl::OkStatus();
}

void ShowLogLevel(google::protobuf::Struct* config) {
  auto& log = (*config->mutable_fields())["log"];
  (*log.mutable_struct_value()->mutable_fields())["level"].set_string_value(
      GetName(base::GetLogLevel()));
}

}  // namespace det::api
