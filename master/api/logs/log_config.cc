#include "master/api/logs/log_config.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/log_level.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

// The log has four levels; those beyond them are the nearest.
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

// As in the configuration file.
const char* Name(base::LogLevel level) {
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

struct AskedLevel {
  bool level = false;
  bool color = false;
};

absl::StatusOr<AskedLevel> ReadMask(const v1::PatchMasterConfigRequest& request) {
  const v1::LogConfig& log = request.config().log();
  AskedLevel asked;
  for (const std::string& path : request.field_mask().paths()) {
    if (path != "log" && path != "log.level" && path != "log.color") {
      return absl::InvalidArgumentError(
          absl::StrCat("field_mask: \"", path, "\" cannot be changed while the master runs; ",
                       "log.level can, all else stands in its configuration file"));
    }
    asked.level |= path == "log.level" || (path == "log" && log.level() != 0);
    asked.color |= path != "log.level";
  }
  if (request.field_mask().paths().empty()) {
    asked = {.level = log.level() != v1::LOG_LEVEL_UNSPECIFIED, .color = log.color()};
  }
  return asked;
}

}  // namespace

absl::Status PatchLog(const v1::PatchMasterConfigRequest& request) {
  const v1::LogConfig& log = request.config().log();
  DET_ASSIGN_OR_RETURN(const AskedLevel asked, ReadMask(request));
  if (asked.color && log.color()) {
    return absl::FailedPreconditionError(
        "log.color: this master writes no colours; its log is plain text, or JSON by log.json of "
        "its configuration file");
  }
  if (!asked.level) return absl::OkStatus();
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
      Name(base::CurrentLogLevel()));
}

}  // namespace det::api
