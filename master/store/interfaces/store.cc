#include "master/store/interfaces/store.h"

#include <utility>

namespace det::store {

absl::StatusOr<TrialRecord> Store::GetBareTrial(model::TrialId id) {
  TrialQuery query;
  query.ids = {id};
  query.bare = true;
  absl::StatusOr<TrialPage> page = ListTrials(query);
  if (!page.ok()) return page.status();
  if (page->trials.empty()) return GetTrial(id);  // the error is that it does not exist
  return std::move(page->trials[0]);
}

}  // namespace det::store
