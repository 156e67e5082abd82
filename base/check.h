// Checks of invariants. If one is broken, the process ends with file, line and message on stderr,
// and recovery restores the state. Called on any thread. Not for errors of a user: return an
// absl::Status for those. PURE.
//
//   DET_CHECK(loop->IsOnLoopThread()) << "Submit from outside";
//   DET_CHECK_OK(store->Close());
#ifndef BASE_CHECK_H_
#define BASE_CHECK_H_

#include <sstream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::base::internal {

// Collects the message; the destructor prints it and aborts the process.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition);
  CheckFailure(const char* file, int line, const char* expression, const absl::Status& status);
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure();

  std::ostream& stream() { return message_; }

 private:
  std::ostringstream message_;
};

// Makes both branches of ?: void. The operator binds weaker than << and stronger than ?:.
struct Voidify {
  void operator&(std::ostream&) const {}
};

inline absl::Status CheckedStatus(const absl::Status& status) { return status; }
template <class T>
absl::Status CheckedStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace det::base::internal

// Ends the process unless `condition` holds. Active in optimized builds too.
#define DET_CHECK(condition)               \
  __builtin_expect(!!(condition), 1)       \
      ? (void)0                            \
      : ::det::base::internal::Voidify() & \
            ::det::base::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

// Ends the process unless the absl::Status or StatusOr `expr` is ok.
#define DET_CHECK_OK(expr)                                                            \
  for (const ::absl::Status det_status_ = ::det::base::internal::CheckedStatus(expr); \
       !det_status_.ok();)                                                            \
  ::det::base::internal::CheckFailure(__FILE__, __LINE__, #expr, det_status_).stream()

#endif  // BASE_CHECK_H_
