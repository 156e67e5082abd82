// Writes a message as JSON by its descriptor, straight into text. The library's own way goes
// through the wire format and a tree of the fields, which was a third of what the master did for a
// page of experiments; json_test.cc holds the two against each other.
//
// PURE.
#ifndef PROTO_JSON_WRITER_H_
#define PROTO_JSON_WRITER_H_

#include <string>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace det::proto {

// As the JSON mapping of proto3 has it; fields without presence are written with their defaults,
// maps by the order of their keys. INTERNAL: it holds what JSON cannot say, a time of the year
// 10000 say.
absl::StatusOr<std::string> WriteJson(const google::protobuf::Message& message);

}  // namespace det::proto

#endif  // PROTO_JSON_WRITER_H_
