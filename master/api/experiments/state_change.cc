#include "master/api/experiments/state_change.h"

#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace det::api {
namespace {

// Submits `event`. The cluster forgets what has ended: if it does not know the object,
// `check_ended`, which reads the store and runs on the pool, determines the result.
void SubmitOrCheckEnded(engine::Engine& engine, base::ThreadPool& pool, cluster::Event event,
                        absl::AnyInvocable<absl::Status()> check_ended, Done done) {
  SubmitAndFinish(engine, std::move(event),
                  [&pool, check_ended = std::move(check_ended),
                   done = std::move(done)](absl::Status status) mutable {
                    if (!absl::IsNotFound(status)) return done(std::move(status));
                    pool.Post([check_ended = std::move(check_ended),
                               done = std::move(done)]() mutable { done(check_ended()); });
                  });
}

// What a change means for an experiment that has ended.
enum class AfterEnd { kRefused, kNoEffect };

// The result of a change of an experiment that the cluster does not know: OK if it has no effect
// after the end, otherwise an error with `rule`, which states the allowed states. The cluster does
// not know unmanaged experiments either: ending one has no effect.
absl::Status CheckEndedExperiment(store::Store& store, model::ExperimentId id, const char* rule,
                                  AfterEnd after_end) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
  if (model::IsDeletion(record.experiment.state)) after_end = AfterEnd::kRefused;
  if (after_end == AfterEnd::kNoEffect) return absl::OkStatus();
  if (record.experiment.unmanaged && !model::IsDeletion(record.experiment.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "experiment ", id.value(),
        " is unmanaged: it runs outside of the cluster, which cannot pause or activate "
        "it; stop its program instead"));
  }
  const std::string_view state = model::ToString(record.experiment.state);
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", id.value(), " is ", std::string(state), "; ", rule));
}

// The result of killing an ended trial.
absl::Status CheckEndedTrial(store::Store& store, model::TrialId id) {
  DET_ASSIGN_OR_RETURN(const store::TrialRecord record, store.GetBareTrial(id));
  if (model::IsTerminal(record.trial.state)) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const bool unmanaged, store.detached().IsUnmanaged(id));
  if (unmanaged) {
    return absl::FailedPreconditionError(
        absl::StrCat("trial ", id.value(),
                     " is unmanaged: it runs outside of the cluster; stop its program instead"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("trial ", id.value(), " is ", std::string(model::ToString(record.trial.state)),
                   ", but the scheduler does not know it; retry"));
}

void ChangeExperiment(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                      model::ExperimentId id, cluster::Event event, const char* rule,
                      AfterEnd after_end, Done done) {
  SubmitOrCheckEnded(
      engine, pool, std::move(event),
      [&store, id, rule, after_end] { return CheckEndedExperiment(store, id, rule, after_end); },
      std::move(done));
}

}  // namespace

void Pause(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
           model::ExperimentId id, Done done) {
  ChangeExperiment(engine, store, pool, id, cluster::PauseExperiment{id},
                   "only ACTIVE experiments can be paused", AfterEnd::kRefused, std::move(done));
}

void Activate(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
              model::ExperimentId id, Done done) {
  ChangeExperiment(engine, store, pool, id, cluster::ActivateExperiment{id},
                   "only PAUSED experiments can be activated", AfterEnd::kRefused, std::move(done));
}

void Cancel(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
            model::ExperimentId id, const auth::Principal& caller, Done done) {
  ChangeExperiment(engine, store, pool, id, cluster::CancelExperiment{id, caller.name},
                   "only ACTIVE or PAUSED experiments can be canceled", AfterEnd::kNoEffect,
                   std::move(done));
}

void Kill(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
          model::ExperimentId id, const auth::Principal& caller, Done done) {
  ChangeExperiment(engine, store, pool, id, cluster::KillExperiment{id, caller.name},
                   "only ACTIVE or PAUSED experiments can be killed", AfterEnd::kNoEffect,
                   std::move(done));
}

void Kill(engine::Engine& engine, store::Store& store, base::ThreadPool& pool, model::TrialId id,
          const auth::Principal& caller, Done done) {
  SubmitOrCheckEnded(
      engine, pool, cluster::KillTrial{id, caller.name},
      [&store, id] { return CheckEndedTrial(store, id); }, std::move(done));
}

}  // namespace det::api
