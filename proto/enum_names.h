// Finds names of enum values in JSON that the enum does not have.
//
// Used by the parsing of requests, on any thread. Does no I/O.
#ifndef PROTO_ENUM_NAMES_H_
#define PROTO_ENUM_NAMES_H_

#include <string_view>

#include "absl/status/status.h"

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace det::proto {

// INVALID_ARGUMENT names the first unknown value. FromJson would ignore it as it ignores unknown
// fields. Fields that `type` does not have, and JSON that is not valid, are ignored.
absl::Status CheckEnumNames(std::string_view json, const google::protobuf::Descriptor& type);

}  // namespace det::proto

#endif  // PROTO_ENUM_NAMES_H_
