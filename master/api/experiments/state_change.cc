#include "master/api/experiments/state_change.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

// Of an experiment that has ended, which the cluster has forgotten. `rule` says what it lacks; one
// that ended as `wanted` is what was asked for.
absl::Status JudgeFinished(store::Store& store, model::ExperimentId id, const char* rule,
                           std::optional<model::ExperimentState> wanted) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
  if (record.experiment.state == wanted) return absl::OkStatus();
  const std::string_view state = model::ToString(record.experiment.state);
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", id.value(), " is ", std::string(state), "; ", rule));
}

// The kill of a trial that the cluster has forgotten: it is over, or never was.
absl::Status JudgeFinished(store::Store& store, model::TrialId id) {
  DET_ASSIGN_OR_RETURN(const store::TrialRecord record, store.GetBareTrial(id));
  if (record.trial.state == model::TrialState::kCanceled) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("trial ", id.value(), " is ", std::string(model::ToString(record.trial.state)),
                   "; only trials that have not ended can be killed"));
}

// Submits `event`; what the cluster does not know is judged by `judge`, on the pool.
void SubmitOrJudge(const Edge& edge, cluster::Event event, std::function<absl::Status()> judge,
                   Done done) {
  SubmitAndFinish(
      edge, std::move(event),
      [&edge, judge = std::move(judge), done = std::move(done)](absl::Status status) mutable {
        if (!absl::IsNotFound(status)) return done(std::move(status));
        edge.pool->Post(
            [judge = std::move(judge), done = std::move(done)]() mutable { done(judge()); });
      });
}

void Submit(const Edge& edge, model::ExperimentId id, cluster::Event event, const char* rule,
            std::optional<model::ExperimentState> wanted, Done done) {
  SubmitOrJudge(
      edge, std::move(event),
      [&edge, id, rule, wanted] { return JudgeFinished(*edge.store, id, rule, wanted); },
      std::move(done));
}

}  // namespace

void Pause(const Edge& edge, model::ExperimentId id, Done done) {
  Submit(edge, id, cluster::PauseExperiment{id}, "only ACTIVE experiments can be paused",
         std::nullopt, std::move(done));
}

void Activate(const Edge& edge, model::ExperimentId id, Done done) {
  Submit(edge, id, cluster::ActivateExperiment{id}, "only PAUSED experiments can be activated",
         std::nullopt, std::move(done));
}

void Cancel(const Edge& edge, model::ExperimentId id, Done done) {
  Submit(edge, id, cluster::CancelExperiment{id},
         "only ACTIVE or PAUSED experiments can be canceled", model::ExperimentState::kCanceled,
         std::move(done));
}

void Kill(const Edge& edge, model::ExperimentId id, Done done) {
  Submit(edge, id, cluster::KillExperiment{id}, "only ACTIVE or PAUSED experiments can be killed",
         model::ExperimentState::kCanceled, std::move(done));
}

void Kill(const Edge& edge, model::TrialId id, Done done) {
  SubmitOrJudge(
      edge, cluster::KillTrial{id}, [&edge, id] { return JudgeFinished(*edge.store, id); },
      std::move(done));
}

}  // namespace det::api
