// Serializes a message to the same bytes for equal messages of the same build. The default
// serialization writes maps in any order.
#ifndef MASTER_API_COMMON_SERIALIZE_H_
#define MASTER_API_COMMON_SERIALIZE_H_

#include <string>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>

namespace det::api {

inline std::string SerializeDeterministically(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

}  // namespace det::api

#endif  // MASTER_API_COMMON_SERIALIZE_H_
