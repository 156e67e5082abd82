// Writes whose outcome is unknown: the connection broke during the commit, and the database could
// not be queried. Their status is UNAVAILABLE with a payload. A caller that must not repeat a write
// checks IsUnknownCommit before it retries.
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

// `why`: the error of the last attempt to query the database.
inline absl::Status UnknownCommitError(const absl::Status& why) {
  absl::Status doubt =
      absl::UnavailableError(absl::StrCat("it is unknown whether this was written: ", why.message(),
                                          "; check whether it exists before trying again"));
  doubt.SetPayload(kUnknownCommit, absl::Cord());
  return doubt;
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_UNKNOWN_COMMIT_H_
