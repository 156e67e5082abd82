// Runs det commands in a test against a scripted master. Used on the test's thread.
#ifndef CLI_TESTING_RUN_DET_H_
#define CLI_TESTING_RUN_DET_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace det::cli {

struct Said {
  absl::StatusOr<int> code;
  std::string out, err;
  std::vector<std::string> requests;  // "POST /path {body}"
};

// Runs det with the words ("~" stands for a space). Each answer, a body or a complete response,
// serves one call, and all must be requested. `before_answer` is passed to FakeServer.
Said Det(const std::string& words, std::vector<std::string> answers,
         std::function<void(int fd)> before_answer = nullptr);

// While it exists, the environment names no user and no token, and the token cache is empty.
class Nobody {
 public:
  Nobody();
  ~Nobody();

 private:
  std::string folder_;
};

}  // namespace det::cli

#endif  // CLI_TESTING_RUN_DET_H_
