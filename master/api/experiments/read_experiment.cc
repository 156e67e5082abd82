#include "master/api/experiments/read_experiment.h"

#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/api/common/live_trials.h"

namespace det::api {
namespace {

absl::StatusOr<v1::Experiment> ReadWith(store::Store& store, const base::Clock& clock,
                                        model::ExperimentId id, const LiveTrials& live,
                                        proto::WrittenParts* written) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
  v1::Experiment out = ToProto(record, live, clock.Now(), /*detail=*/true, written);
  DET_ASSIGN_OR_RETURN(const auto trials, store.ListTrialIds(id));
  for (const model::TrialId trial : trials) out.add_trial_ids(trial.value());
  return out;
}

absl::StatusOr<v1::Trial> ReadWith(store::Store& store, const base::Clock& clock, model::TrialId id,
                                   const LiveTrials& live) {
  DET_ASSIGN_OR_RETURN(const store::TrialRecord record, store.GetTrial(id));
  DET_ASSIGN_OR_RETURN(const auto allocations, store.ListAllocations(record.trial.task));
  return WithSearcherMetric(ToProto(record, live, allocations, clock.Now()));
}

}  // namespace

void ReadExperiment(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                    const base::Clock& clock, model::ExperimentId id,
                    absl::AnyInvocable<void(absl::StatusOr<v1::Experiment>)> then,
                    std::shared_ptr<proto::WrittenParts> written,
                    absl::AnyInvocable<void(const cluster::Cluster&)> read) {
  QueryLiveTrials(
      engine, pool, id,
      [&store, &clock, id, written = std::move(written),
       then = std::move(then)](const absl::StatusOr<LiveTrials>& live) mutable {
        then(live.ok() ? ReadWith(store, clock, id, *live, written.get())
                       : absl::StatusOr<v1::Experiment>(live.status()));
      },
      std::move(read));
}

void ReadTrial(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
               const base::Clock& clock, model::TrialId id,
               absl::AnyInvocable<void(absl::StatusOr<v1::Trial>)> then) {
  QueryLiveTrials(
      engine, pool, std::nullopt,
      [&store, &clock, id, then = std::move(then)](const absl::StatusOr<LiveTrials>& live) mutable {
        then(live.ok() ? ReadWith(store, clock, id, *live)
                       : absl::StatusOr<v1::Trial>(live.status()));
      });
}

// Adds the bounds and lists of the filter to the query. An experiment must match all of them.
void AddIdFilter(const v1::Int32FieldFilter& filter, store::ExperimentQuery* query) {
  const auto set_min = [&](int64_t id) {
    query->min_id = std::max(query->min_id.value_or(id), id);
  };
  const auto set_max = [&](int64_t id) {
    query->max_id = std::min(query->max_id.value_or(id), id);
  };
  if (filter.has_gt()) set_min(int64_t{filter.gt()} + 1);
  if (filter.has_gte()) set_min(filter.gte());
  if (filter.has_lt()) set_max(int64_t{filter.lt()} - 1);
  if (filter.has_lte()) set_max(filter.lte());
  for (const int32_t id : filter.incl()) query->ids.emplace_back(id);
  for (const int32_t id : filter.not_in()) query->not_ids.emplace_back(id);
}

store::ExperimentQuery ToQuery(const v1::GetExperimentsRequest& request) {
  using Sort = store::ExperimentQuery::Sort;
  store::ExperimentQuery query;
  query.window = ToPage(request.offset(), request.limit());
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  query.name = request.name();
  query.description = request.description();
  query.labels.assign(request.labels().begin(), request.labels().end());
  for (const int32_t id : request.user_ids()) query.owner_ids.emplace_back(id);
  query.project = request.project_id();
  AddIdFilter(request.experiment_id_filter(), &query);
  if (request.has_archived()) query.archived = request.archived();
  query.usernames.assign(request.users().begin(), request.users().end());
  for (const int state : request.states()) {
    const auto known = FromProto(static_cast<v1::Experiment::State>(state));
    if (known) query.states.push_back(*known);
  }
  switch (request.sort_by()) {
    case v1::GetExperimentsRequest::SORT_BY_START_TIME:
      query.sort = Sort::kStartTime;
      break;
    case v1::GetExperimentsRequest::SORT_BY_END_TIME:
      query.sort = Sort::kEndTime;
      break;
    case v1::GetExperimentsRequest::SORT_BY_STATE:
      query.sort = Sort::kState;
      break;
    case v1::GetExperimentsRequest::SORT_BY_NUM_TRIALS:
      query.sort = Sort::kNumTrials;
      break;
    case v1::GetExperimentsRequest::SORT_BY_PROGRESS:
      query.sort = Sort::kProgress;
      break;
    case v1::GetExperimentsRequest::SORT_BY_USER:
      query.sort = Sort::kUser;
      break;
    case v1::GetExperimentsRequest::SORT_BY_NAME:
      query.sort = Sort::kName;
      break;
    case v1::GetExperimentsRequest::SORT_BY_DESCRIPTION:
      query.sort = Sort::kDescription;
      break;
    case v1::GetExperimentsRequest::SORT_BY_FORKED_FROM:
      query.sort = Sort::kForkedFrom;
      break;
    case v1::GetExperimentsRequest::SORT_BY_RESOURCE_POOL:
      query.sort = Sort::kResourcePool;
      break;
    case v1::GetExperimentsRequest::SORT_BY_PROJECT_ID:
      query.sort = Sort::kProject;
      break;
    case v1::GetExperimentsRequest::SORT_BY_CHECKPOINT_SIZE:
      query.sort = Sort::kCheckpointSize;
      break;
    case v1::GetExperimentsRequest::SORT_BY_CHECKPOINT_COUNT:
      query.sort = Sort::kCheckpointCount;
      break;
    case v1::GetExperimentsRequest::SORT_BY_SEARCHER_METRIC_VAL:
      query.sort = Sort::kBestMetric;
      break;
    default:
      query.sort = Sort::kId;
  }
  return query;
}

}  // namespace det::api
