// The .proto files of the public API with their comments, as a serialized
// google.protobuf.FileDescriptorSet that is embedded in the program.
#ifndef PROTO_API_DESCRIPTORS_H_
#define PROTO_API_DESCRIPTORS_H_

#include <string_view>

namespace det::proto {

std::string_view ApiDescriptors();

}  // namespace det::proto

#endif  // PROTO_API_DESCRIPTORS_H_
