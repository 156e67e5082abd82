#include "master/api/experiments/experiment_deletion.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"

namespace det::api {

namespace {

// What a version of a model holds would stay without the experiment that explains it.
absl::Status CheckUnheld(store::Store& store, model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(const std::vector<std::string> holders, store.models().ListHolders(id));
  if (holders.empty()) return absl::OkStatus();
  const size_t more = holders.size() - 1;
  return absl::FailedPreconditionError(absl::StrCat(
      "experiment ", id.value(), " cannot be deleted: ", holders.front(),
      more > 0 ? absl::StrCat(" and ", more, more == 1 ? " other hold" : " others hold") : " holds",
      " checkpoints of it; delete ", more > 0 ? "these versions" : "this version",
      " first (det model delete-version)"));
}

}  // namespace

void Archive(engine::Engine& engine, store::Store& store, model::ExperimentId id, bool archived,
             Done done) {
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  SubmitAndFinish(engine, cluster::ArchiveExperiment{id, archived}, std::move(done));
}

void Delete(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
            const v1::DeleteExperimentRequest& request, v1::DeleteExperimentResponse* response,
            Done done) {
  const model::ExperimentId id(request.experiment_id());
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  absl::Status unheld = CheckUnheld(store, id);
  if (!unheld.ok()) return done(std::move(unheld));
  SubmitAndFinish(
      engine, cluster::DeleteExperiment{id},
      [&store, &pool, id, response, done = std::move(done)](absl::Status applied) mutable {
        if (!applied.ok()) return done(std::move(applied));
        pool.Post([&store, id, response, done = std::move(done)]() mutable {
          const auto held = store.garbage_collection().ListHeldCheckpoints(id);
          if (!held.ok()) return done(held.status());
          for (const auto& each : *held) *response->add_kept() = ToProto(each);
          done(absl::OkStatus());
        });
      });
}

}  // namespace det::api
