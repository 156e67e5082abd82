#include "master/store/postgres/space_rows.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace det::store {

absl::StatusOr<SpaceState> ToSpaceState(std::string_view text) {
  if (text.empty()) return SpaceState::kLive;
  if (text == "DELETING") return SpaceState::kDeleting;
  if (text == "DELETE_FAILED") return SpaceState::kDeleteFailed;
  return absl::InternalError(
      absl::StrCat("the database holds the unknown state ", std::string(text)));
}

}  // namespace det::store
