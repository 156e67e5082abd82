// Writes a message as JSON directly, using its descriptor. Protobuf's own conversion uses the wire
// format and a tree of fields, which took a third of the master's time for a page of experiments;
// json_test.cc compares the two.
//
// PURE.
#ifndef PROTO_JSON_WRITER_H_
#define PROTO_JSON_WRITER_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace det::proto {

// Returns the JSON mapping of proto3; fields without presence are written with their defaults, maps
// in the order of their keys. Returns INTERNAL if a value has no JSON form, such as a time in the
// year 10000.
absl::StatusOr<std::string> WriteJson(const google::protobuf::Message& message);

// Returns the same, but fields of message type that are unset are null, unless they are declared
// `optional`, belong to a oneof, or are among a few that existing clients expect to be absent.
// These clients read all others without asking whether they are present.
absl::StatusOr<std::string> WriteResponseJson(const google::protobuf::Message& message);

}  // namespace det::proto

#endif  // PROTO_JSON_WRITER_H_
