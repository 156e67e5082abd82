// Checks names of enum values in JSON, and completes those without their prefix.
//
// Used by the parsing of requests, on any thread. Does no I/O.
#ifndef PROTO_ENUM_NAMES_H_
#define PROTO_ENUM_NAMES_H_

#include <string>

#include "absl/status/status.h"

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace det::proto {

// Returns INVALID_ARGUMENT for the first name that its enum does not have: FromJson would ignore it
// as it ignores unknown fields. A name without its prefix (INFO for LOG_LEVEL_INFO), as existing
// clients send it in log lines, is known: `json` is then replaced by a text with the whole name.
// Fields that `type` does not have, and JSON that is not valid, are ignored.
absl::Status CompleteEnumNames(std::string* json, const google::protobuf::Descriptor& type);

}  // namespace det::proto

#endif  // PROTO_ENUM_NAMES_H_
