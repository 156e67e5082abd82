#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace det::base::internal {

CheckFailure::CheckFailure(const char* file, int line, const char* condition) {
  message_ << file << ":" << line << ": check failed: " << condition << " ";
}

CheckFailure::CheckFailure(const char* file, int line, const char* expression,
                           const absl::Status& status) {
  message_ << file << ":" << line << ": check failed: " << expression << " is " << status.ToString()
           << " ";
}

CheckFailure::~CheckFailure() {
  message_ << "\n";
  const std::string text = message_.str();
  // Writes with one call, so that lines of several threads do not mix. Does not use the log, which
  // may be the cause of the failure.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  std::abort();
}

}  // namespace det::base::internal
