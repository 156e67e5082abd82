#include "master/api/experiments/experiment_deletion.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"

namespace det::api {

namespace {

// Rejects the deletion while a model version uses a checkpoint of the experiment: the checkpoint
// would remain without the experiment that describes it.
absl::Status CheckNotHeld(store::Store& store, model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> holders, store.models().ListHolders(id));
  if (holders.empty()) return absl::OkStatus();
  const size_t more = holders.size() - 1;
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot delete experiment ", id.value(), ": its checkpoints are used by ", holders.front(),
      more > 0 ? absl::StrCat(" and ", more, more == 1 ? " other version" : " other versions") : "",
      "; delete ", more > 0 ? "these versions" : "this version",
      " first (det model delete-version)"));
}

// The engine checks that a managed experiment has ended; it does not know unmanaged ones.
absl::Status CheckNotRunning(const experiment::Experiment& experiment, const char* what) {
  if (!experiment.unmanaged || experiment.state != model::ExperimentState::kActive) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", experiment.id.value(),
                   " is RUNNING outside of the cluster; only experiments that have ended can be ",
                   what, "; stop its program first"));
}

}  // namespace

void Archive(engine::Engine& engine, store::Store& store, model::ExperimentId id, bool archived,
             Done done) {
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  absl::Status ended = CheckNotRunning(record->experiment, archived ? "archived" : "unarchived");
  if (!ended.ok()) return done(std::move(ended));
  SubmitAndFinish(engine, cluster::ArchiveExperiment{id, archived}, std::move(done));
}

void Delete(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
            const v1::DeleteExperimentRequest& request, v1::DeleteExperimentResponse* response,
            Done done) {
  const model::ExperimentId id(request.experiment_id());
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  absl::Status ended = CheckNotRunning(record->experiment, "deleted");
  if (!ended.ok()) return done(std::move(ended));
  absl::Status not_held = CheckNotHeld(store, id);
  if (!not_held.ok()) return done(std::move(not_held));
  SubmitAndFinish(
      engine, cluster::DeleteExperiment{id},
      [&store, &pool, id, response, done = std::move(done)](absl::Status applied) mutable {
        if (!applied.ok()) return done(std::move(applied));
        pool.Post([&store, id, response, done = std::move(done)]() mutable {
          const auto held = store.garbage_collection().ListHeldCheckpoints(id);
          if (!held.ok()) return done(held.status());
          for (const auto& checkpoint : *held) *response->add_kept() = ToProto(checkpoint);
          done(absl::OkStatus());
        });
      });
}

absl::Status CheckNotHeld(store::Store& store, const store::ExperimentQuery& query) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store.ListExperiments(query));
  for (const store::ExperimentRecord& record : page.experiments) {
    DET_RETURN_IF_ERROR(CheckNotHeld(store, record.experiment.id));
  }
  return absl::OkStatus();
}

}  // namespace det::api
