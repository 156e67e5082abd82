// Formats configs as YAML.
#ifndef CLI_YAML_TEXT_H_
#define CLI_YAML_TEXT_H_

#include <string>

#include "google/protobuf/struct.pb.h"

namespace det::cli {

// Returns YAML with sorted keys and a newline at the end.
std::string FormatYaml(const google::protobuf::Struct& values);

}  // namespace det::cli

#endif  // CLI_YAML_TEXT_H_
