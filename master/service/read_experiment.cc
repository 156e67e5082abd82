#include "master/service/read_experiment.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/status_macros.h"
#include "master/service/convert.h"
#include "master/service/live.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

absl::StatusOr<api::Experiment> Read(const Edge& edge, model::ExperimentId id,
                                     const LiveTrials& live) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, edge.store->GetExperiment(id));
  api::Experiment out = ToProto(record, live, edge.clock->Now(), /*detail=*/true);
  DET_ASSIGN_OR_RETURN(const store::TrialPage trials,
                       edge.store->ListTrials(store::BareTrialsOf(id)));
  for (const store::TrialRecord& trial : trials.trials) {
    out.add_trial_ids(trial.trial.id.value());
  }
  return out;
}

}  // namespace

void ReadFull(const Edge& edge, model::ExperimentId id,
              absl::AnyInvocable<void(absl::StatusOr<api::Experiment>)> then) {
  ReadLive(
      edge, id,
      [&edge, id, then = std::move(then)](const absl::StatusOr<LiveTrials>& live) mutable {
        then(live.ok() ? Read(edge, id, *live) : absl::StatusOr<api::Experiment>(live.status()));
      });
}

namespace {

// What a WatchExperiment has sent last. One look at a time, so that no older one comes second.
struct Watched {
  std::mutex mutex;
  ExperimentBoard::Seen last;
  bool looking = false;
  bool again = false;
  std::atomic<bool> waits = false;   // as of the last look: the queue's news are its own
  std::atomic<bool> changed = true;  // so that another look is due
  std::atomic<bool> began = false;   // the first message is out
  std::atomic<int64_t> reports = 0;  // heard of
  std::atomic<int64_t> told = 0;     // of those

  bool BeginLook() {
    std::lock_guard lock(mutex);
    again = looking;
    return !std::exchange(looking, true);
  }
  // Whether another look was asked for in the meantime.
  bool EndLook() {
    std::lock_guard lock(mutex);
    looking = false;
    return std::exchange(again, false);
  }
};

bool IsOver(api::Experiment::State state) {
  return state == api::Experiment::STATE_COMPLETED || state == api::Experiment::STATE_CANCELED ||
         state == api::Experiment::STATE_ERROR || state == api::Experiment::STATE_DELETING ||
         state == api::Experiment::STATE_DELETE_FAILED || state == api::Experiment::STATE_DELETED;
}

void SendIfNew(Watched& watched, ExperimentBoard::Seen seen,
               Stream<api::WatchExperimentResponse>& out) {
  const api::Experiment& experiment = seen->message->experiment();
  watched.waits = experiment.state() == api::Experiment::STATE_QUEUED;
  if (watched.last == nullptr || watched.last->news != seen->news) out.Send(seen->message);
  if (IsOver(experiment.state())) out.Close(absl::OkStatus());
  watched.last = std::move(seen);
}

void SendReports(Watched& watched, Stream<api::WatchExperimentResponse>& out) {
  const int64_t reports = watched.reports;
  if (!watched.began || watched.told.exchange(reports) >= reports) return;
  api::WatchExperimentResponse response;
  response.set_reports(reports);
  out.Send(std::move(response));
}

}  // namespace

void WatchExperiment(const Edge& edge, std::shared_ptr<ExperimentBoard> board,
                     model::ExperimentId id,
                     std::shared_ptr<Stream<api::WatchExperimentResponse>> stream) {
  const std::weak_ptr<Stream<api::WatchExperimentResponse>> weak = stream;
  // Before the first look, so that nothing falls between the two.
  auto watched = std::make_shared<Watched>();
  const auto look = [weak, watched] {
    watched->changed = true;
    if (const auto held = weak.lock()) held->Wake();
  };
  const int64_t subscription = edge.watch->experiments().Subscribe(id, look);
  const int64_t queue = edge.watch->queue().Subscribe({}, [look, watched] {
    if (watched->waits) look();
  });
  const int64_t metrics = edge.watch->metrics().Subscribe(id, [weak, watched] {
    ++watched->reports;
    if (const auto held = weak.lock()) held->Wake();
  });
  stream->Start(
      [board = std::move(board), id, watched](Stream<api::WatchExperimentResponse>& out) {
        SendReports(*watched, out);
        if (!watched->changed.exchange(false) || !watched->BeginLook()) return;
        board->Show(id, [watched, held = out.shared_from_this()](
                            absl::StatusOr<ExperimentBoard::Seen> seen) {
          if (!seen.ok()) return held->Close(seen.status());
          SendIfNew(*watched, *std::move(seen), *held);
          watched->began = true;
          if (watched->EndLook()) watched->changed = true;
          held->Wake();
        });
      },
      [&edge, id, subscription, queue, metrics] {
        edge.watch->experiments().Unsubscribe(id, subscription);
        edge.watch->queue().Unsubscribe({}, queue);
        edge.watch->metrics().Unsubscribe(id, metrics);
      });
}

store::ExperimentQuery ToQuery(const api::GetExperimentsRequest& request) {
  using Sort = store::ExperimentQuery::Sort;
  store::ExperimentQuery query;
  query.window = ToWindow(request.offset(), request.limit());
  query.descending = request.order_by() == api::ORDER_BY_DESC;
  query.name = request.name();
  query.description = request.description();
  query.labels.assign(request.labels().begin(), request.labels().end());
  for (const int32_t id : request.user_ids()) query.owner_ids.emplace_back(id);
  query.project = request.project_id();
  if (request.has_archived()) query.archived = request.archived();
  query.usernames.assign(request.users().begin(), request.users().end());
  for (const int state : request.states()) {
    const auto known = FromProto(static_cast<api::Experiment::State>(state));
    if (known) query.states.push_back(*known);
  }
  switch (request.sort_by()) {
    case api::GetExperimentsRequest::SORT_BY_START_TIME:
      query.sort = Sort::kStartTime;
      break;
    case api::GetExperimentsRequest::SORT_BY_END_TIME:
      query.sort = Sort::kEndTime;
      break;
    case api::GetExperimentsRequest::SORT_BY_STATE:
      query.sort = Sort::kState;
      break;
    case api::GetExperimentsRequest::SORT_BY_NUM_TRIALS:
      query.sort = Sort::kNumTrials;
      break;
    case api::GetExperimentsRequest::SORT_BY_PROGRESS:
      query.sort = Sort::kProgress;
      break;
    case api::GetExperimentsRequest::SORT_BY_USER:
      query.sort = Sort::kUser;
      break;
    case api::GetExperimentsRequest::SORT_BY_NAME:
      query.sort = Sort::kName;
      break;
    default:
      query.sort = Sort::kId;
  }
  return query;
}

}  // namespace det::service
