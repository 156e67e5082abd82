// det against a master that answers by a script. For tests.
#ifndef CLI_TESTING_RUN_DET_H_
#define CLI_TESTING_RUN_DET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

struct Said {
  absl::StatusOr<int> code;
  std::string out, err;
  std::vector<std::string> requests;  // "POST /path {body}"
};

// Runs det with the words (a "~" is a space); each answer, a body or a whole response, serves one
// call.
Said Det(const std::string& words, std::vector<std::string> answers);

}  // namespace det::cli

#endif  // CLI_TESTING_RUN_DET_H_
