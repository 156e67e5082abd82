// Which fields of an answer the caller wants: "experiments.id,experiments.config.name".
//
// A path goes by the names of fields, as in JSON or in the protos, through messages, through the
// elements of lists and through maps by their keys; what it ends at comes whole. What no path names
// is left out; what is named and has no value stays out, or empty, as without a mask.
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
  // `text`: paths by commas. INVALID_ARGUMENT: there is none, one is too deep, or a name in it is
  // unknown, with the nearest that is known.
  static absl::StatusOr<FieldMask> Parse(std::string_view text,
                                         const google::protobuf::Descriptor& type);

  // `json`: a message of that type as JSON. INTERNAL when it is none.
  absl::StatusOr<std::string> Apply(std::string_view json) const;

  // Of one message, by JSON name; empty: the whole of it.
  struct Node {
    std::map<std::string, Node> members;
  };

 private:
  Node root_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_FIELD_MASK_H_
