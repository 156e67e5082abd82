// Formats free-form API values (hyperparameters, metrics) as one line. Used by commands. Does no
// I/O.
#ifndef CLI_COMMANDS_STRUCT_TEXT_H_
#define CLI_COMMANDS_STRUCT_TEXT_H_

#include <string>

namespace google::protobuf {
class Struct;
class Value;
}

namespace det::cli {

// A text or number as it is, any other value as JSON.
std::string FormatValue(const google::protobuf::Value& value);
// "layers.width=32  lr=0.003", sorted by name; "-" if empty.
std::string FormatStruct(const google::protobuf::Struct& values);

}  // namespace det::cli

#endif  // CLI_COMMANDS_STRUCT_TEXT_H_
