#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "proto/http_rule.h"
#include "proto/json_writer.h"

namespace det::proto {
namespace {

namespace util = google::protobuf::util;

}  // namespace

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  return WriteJson(message);
}

absl::Status FromJson(std::string_view json, google::protobuf::Message* message) {
  util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const util::Status status =
      util::JsonStringToMessage({json.data(), json.size()}, message, options);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read JSON: ", status.message().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace det::proto
