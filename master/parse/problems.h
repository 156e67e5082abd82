// Problems as a user reads them. Called by this folder's sources, on any thread.
#ifndef MASTER_PARSE_PROBLEMS_H_
#define MASTER_PARSE_PROBLEMS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/parse/config_node.h"
#include "master/parse/read.h"

namespace det::model {

// "const.yaml:12: path: what is wrong", in the order of the file.
std::vector<std::string> ToLines(std::vector<Problem> problems);

// All of them in one; OK for none.
absl::Status ToStatus(std::vector<Problem> problems);

// INVALID_ARGUMENT unless the whole is a map, or nothing.
absl::Status CheckIsMap(const ConfigNode& root, const std::string& source);

}  // namespace det::model

#endif  // MASTER_PARSE_PROBLEMS_H_
