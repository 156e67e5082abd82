// Free-form values of the API (hyperparameters, metrics) as one line of text.
// Called by commands. Does no I/O.
#ifndef CLI_COMMANDS_STRUCT_TEXT_H_
#define CLI_COMMANDS_STRUCT_TEXT_H_

#include <string>

namespace google::protobuf {
class Struct;
}

namespace det::cli {

// A whole number without the digits that a metric has: "64", "0.0091".
std::string PlainNumber(double number);

// "layers.width=32  lr=0.003", by name; "-" for nothing.
std::string StructText(const google::protobuf::Struct& values);

}  // namespace det::cli

#endif  // CLI_COMMANDS_STRUCT_TEXT_H_
