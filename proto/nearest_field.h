// Suggests the field that a misspelled name was meant for.
//
// Used by the parsing of requests and by the gateway's field masks, on any thread. Does no I/O.
#ifndef PROTO_NEAREST_FIELD_H_
#define PROTO_NEAREST_FIELD_H_

#include <string>
#include <string_view>

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace det::proto {

// Returns the JSON name of the field of `type` with the smallest edit distance; empty if it has no
// fields.
std::string NearestField(const google::protobuf::Descriptor& type, std::string_view name);

}  // namespace det::proto

#endif  // PROTO_NEAREST_FIELD_H_
