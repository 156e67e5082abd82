// A run of det within a test, against a master that answers by a script.
// Called on the test's thread.
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

// Runs det with the words (a "~" is a space); each answer, a body or a whole response, serves one
// call. All have to be asked for. `before_answer` as by FakeServer.
Said Det(const std::string& words, std::vector<std::string> answers,
         std::function<void(int fd)> before_answer = nullptr);

// While it lives, the environment names no user and no token, and the cache of tokens is empty.
class Nobody {
 public:
  Nobody();
  ~Nobody();

 private:
  std::string folder_;
};

}  // namespace det::cli

#endif  // CLI_TESTING_RUN_DET_H_
