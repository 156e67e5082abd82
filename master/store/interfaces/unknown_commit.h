// A write of which it is not known whether it was made: the answer to its commit was lost, and the
// database could not be asked. Such a status is UNAVAILABLE and marked; who does not bear doing it
// twice asks IsUnknownCommit before asking again.
#ifndef MASTER_STORE_INTERFACES_UNKNOWN_COMMIT_H_
#define MASTER_STORE_INTERFACES_UNKNOWN_COMMIT_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace det::store {

inline constexpr char kUnknownCommit[] = "in-doubt";

inline bool IsUnknownCommit(const absl::Status& status) {
  return status.GetPayload(kUnknownCommit).has_value();
}

// `why`: what came of asking.
inline absl::Status UnknownCommitError(const absl::Status& why) {
  absl::Status doubt = absl::UnavailableError(
      absl::StrCat("it is not known whether this was written: ", why.message(),
                   "; look whether it is there before asking again"));
  doubt.SetPayload(kUnknownCommit, absl::Cord());
  return doubt;
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_UNKNOWN_COMMIT_H_
