// Converts the entries of a context directory to files of a request. Used by the commands that send
// one.
#ifndef CLI_COMMANDS_CONTEXT_FILES_H_
#define CLI_COMMANDS_CONTEXT_FILES_H_

#include <vector>

#include "cli/context_dir.h"
#include "det/api/v1/common.pb.h"
#include "google/protobuf/repeated_ptr_field.h"

namespace det::cli {

void AddFiles(std::vector<ContextEntry> entries,
              google::protobuf::RepeatedPtrField<api::v1::File>* files);

}  // namespace det::cli

#endif  // CLI_COMMANDS_CONTEXT_FILES_H_
