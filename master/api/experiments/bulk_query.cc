#include "master/api/experiments/bulk_query.h"

#include "absl/strings/str_cat.h"
#include "master/api/common/convert.h"

namespace det::api {

absl::StatusOr<store::ExperimentQuery> ToBulkQuery(const v1::BulkExperimentFilters& filters) {
  store::ExperimentQuery query;
  query.name = filters.name();
  query.description = filters.description();
  query.labels.assign(filters.labels().begin(), filters.labels().end());
  if (filters.has_archived()) query.archived = filters.archived();
  for (const int state : filters.states()) {
    const auto known = FromProto(static_cast<v1::Experiment::State>(state));
    // Reject it: a query without it would select experiments in all states.
    if (!known) {
      return absl::InvalidArgumentError(
          absl::StrCat("filters.states: ", state, " is not a state of an experiment"));
    }
    query.states.push_back(*known);
  }
  for (const int32_t user : filters.user_ids()) query.owner_ids.emplace_back(user);
  return query;
}

}  // namespace det::api
