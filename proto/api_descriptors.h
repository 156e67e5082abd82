// The protos of the public API with their comments, as they stand in proto/det/api/v1: a serialised
// google.protobuf.FileDescriptorSet, part of the program.
#ifndef PROTO_API_DESCRIPTORS_H_
#define PROTO_API_DESCRIPTORS_H_

#include <string_view>

namespace det::proto {

std::string_view ApiDescriptors();

}  // namespace det::proto

#endif  // PROTO_API_DESCRIPTORS_H_
