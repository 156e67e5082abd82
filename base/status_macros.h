// Macros that return early on errors, for functions that return absl::Status or absl::StatusOr<T>.
// Used on any thread. Never logs and never ends the process. PURE.
//
//   DET_RETURN_IF_ERROR(Validate(config));
//   DET_ASSIGN_OR_RETURN(const Plan plan, MakePlan(snapshot));
//
// A left-hand side with a comma outside parentheses, such as a structured binding, is not
// supported.
#ifndef BASE_STATUS_MACROS_H_
#define BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::base::internal {
inline const absl::Status& AsStatus(const absl::Status& status) { return status; }
template <class T>
const absl::Status& AsStatus(const absl::StatusOr<T>& result) {
  return result.status();
}
}  // namespace det::base::internal

#define DET_MACRO_CONCAT_INNER_(a, b) a##b
#define DET_MACRO_CONCAT_(a, b) DET_MACRO_CONCAT_INNER_(a, b)

// Returns the status of `expr` (an absl::Status or StatusOr) from the enclosing function unless ok.
#define DET_RETURN_IF_ERROR(expr)                                          \
  do {                                                                     \
    if (const auto& det_result_ = (expr); !det_result_.ok()) {             \
      return ::absl::Status(::det::base::internal::AsStatus(det_result_)); \
    }                                                                      \
  } while (false)

// Moves the value of the StatusOr `expr` into `lhs` (a declaration or an lvalue), or returns its
// status from the enclosing function.
#define DET_ASSIGN_OR_RETURN(lhs, expr) \
  DET_ASSIGN_OR_RETURN_INNER_(DET_MACRO_CONCAT_(det_status_or_, __LINE__), lhs, expr)

#define DET_ASSIGN_OR_RETURN_INNER_(result, lhs, expr) \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = *std::move(result)

#endif  // BASE_STATUS_MACROS_H_
