// Runs det commands in a test against a scripted master. Used on the test's thread.
#ifndef CLI_TESTING_RUN_DET_H_
#define CLI_TESTING_RUN_DET_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

struct DetResult {
  absl::StatusOr<int> code;
  std::string out, err;
  std::vector<std::string> requests;  // "POST /path {body}"
};

// Runs det with the words ("~" stands for a space). Each answer, a body or a complete response,
// serves one call, and all must be requested. `before_answer` is passed to FakeServer.
DetResult RunDet(const std::string& words, std::vector<std::string> answers,
                 std::function<void(int fd)> before_answer = nullptr);

// While it exists, the environment names no user and no token, and the token cache is empty.
class CleanEnvironment {
 public:
  CleanEnvironment();
  ~CleanEnvironment();

 private:
  std::string folder_;
};

}  // namespace det::cli

#endif  // CLI_TESTING_RUN_DET_H_
