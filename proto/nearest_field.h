// The field that a wrong name was probably meant for.
//
// Used where requests are read and by the gateway's field masks, on any thread. Never does I/O.
#ifndef PROTO_NEAREST_FIELD_H_
#define PROTO_NEAREST_FIELD_H_

#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace det::proto {

// The JSON name of the field of `type` that takes the fewest changes; empty when it has none.
std::string NearestField(const google::protobuf::Descriptor& type, std::string_view name);

}  // namespace det::proto

#endif  // PROTO_NEAREST_FIELD_H_
