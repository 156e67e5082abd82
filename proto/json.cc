#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "proto/http_rule.h"

namespace det::proto {
namespace {

namespace util = google::protobuf::util;

}  // namespace

absl::StatusOr<std::string> ToJson(const google::protobuf::Message& message) {
  util::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string json;
  const util::Status status = util::MessageToJsonString(message, &json, options);
  if (!status.ok()) {
    return absl::InternalError(absl::StrCat("cannot write JSON: ", status.message().ToString()));
  }
  return json;
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
