// A write of which it is not known whether it was made: the answer to its commit was lost, and the
// database could not be asked. Such a status is UNAVAILABLE and marked; who does not bear doing it
// twice asks IsInDoubt before asking again.
#ifndef MASTER_STORE_INTERFACES_IN_DOUBT_H_
#define MASTER_STORE_INTERFACES_IN_DOUBT_H_

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

namespace det::store {

inline constexpr char kInDoubt[] = "in-doubt";

inline bool IsInDoubt(const absl::Status& status) {
  return status.GetPayload(kInDoubt).has_value();
}

// `why`: what came of asking.
inline absl::Status InDoubt(const absl::Status& why) {
  absl::Status doubt = absl::UnavailableError(
      absl::StrCat("it is not known whether this was written: ", why.message(),
                   "; look whether it is there before asking again"));
  doubt.SetPayload(kInDoubt, absl::Cord());
  return doubt;
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_IN_DOUBT_H_
