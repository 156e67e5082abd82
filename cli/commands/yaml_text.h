// A configuration as people write it.
#ifndef CLI_COMMANDS_YAML_TEXT_H_
#define CLI_COMMANDS_YAML_TEXT_H_

#include <string>

#include "google/protobuf/struct.pb.h"

namespace det::cli {

// YAML, its keys in order of the alphabet, with a newline at its end.
std::string YamlText(const google::protobuf::Struct& values);

}  // namespace det::cli

#endif  // CLI_COMMANDS_YAML_TEXT_H_
