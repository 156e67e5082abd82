// The fields of a response that the client requests: "experiments.id,experiments.config.name".
//
// A path consists of field names, in JSON or proto form. It descends through messages, through the
// elements of lists, and through maps by key; the value at its end is returned whole. Fields
// outside of all paths are omitted; requested fields without a value appear as without a mask.
#ifndef MASTER_GATEWAY_FIELD_MASK_H_
#define MASTER_GATEWAY_FIELD_MASK_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"

namespace det::gateway {

class FieldMask {
 public:
  // `text`: comma-separated paths. INVALID_ARGUMENT: it is empty, a path is too deep, or a name is
  // unknown (the error suggests the nearest known one).
  static absl::StatusOr<FieldMask> Parse(std::string_view text,
                                         const google::protobuf::Descriptor& type);

  // `json`: a message of that type as JSON. INTERNAL if it is invalid.
  absl::StatusOr<std::string> Apply(std::string_view json) const;

  // Fields of one message by JSON name; empty: the whole message.
  struct Node {
    std::map<std::string, Node> members;
  };

 private:
  Node root_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_FIELD_MASK_H_
