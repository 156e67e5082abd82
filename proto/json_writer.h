// Writes a message as JSON directly, using its descriptor. Protobuf's own conversion uses the wire
// format and a tree of fields, which took a third of the master's time for a page of experiments;
// json_test.cc compares the two.
//
// PURE.
#ifndef PROTO_JSON_WRITER_H_
#define PROTO_JSON_WRITER_H_

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/statusor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/struct.pb.h"

namespace det::proto {

// The JSON of some Structs of a message, which are left empty in the message itself. A cached text
// is many times faster than a Struct that is built, written and destroyed.
class WrittenParts {
 public:
  // `part` must keep its address until the message is written: it may be moved with the message
  // that contains it, but not copied.
  void Set(const google::protobuf::Struct& part, std::shared_ptr<const std::string> json) {
    parts_[&part] = std::move(json);
  }
  // Sets the copy of a part to the same JSON.
  void Repeat(const google::protobuf::Struct& part, const google::protobuf::Struct& copy) {
    if (const auto it = parts_.find(&part); it != parts_.end()) Set(copy, it->second);
  }
  // Null if the part is not known.
  const std::string* Find(const google::protobuf::Struct& part) const {
    const auto it = parts_.find(&part);
    return it == parts_.end() ? nullptr : it->second.get();
  }

 private:
  std::unordered_map<const google::protobuf::Struct*, std::shared_ptr<const std::string>> parts_;
};

// Returns the JSON mapping of proto3; fields without presence are written with their defaults, maps
// in the order of their keys. Returns INTERNAL if a value has no JSON form, such as a time in the
// year 10000.
absl::StatusOr<std::string> WriteJson(const google::protobuf::Message& message);

// Returns the same, but fields of message type that are unset are null, unless they are declared
// `optional`, belong to a oneof, or are among a few that existing clients expect to be absent.
// These clients read all others without asking whether they are present.
//
// `written`, which may be null: parts of the message whose JSON is known.
absl::StatusOr<std::string> WriteResponseJson(const google::protobuf::Message& message,
                                              const WrittenParts* written = nullptr);

}  // namespace det::proto

#endif  // PROTO_JSON_WRITER_H_
