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

void Archive(const Edge& edge, model::ExperimentId id, bool archived, Done done) {
  const auto record = edge.store->GetExperiment(id);
  if (!record.ok()) return done(record.status());
  SubmitAndFinish(edge, cluster::ArchiveExperiment{id, archived}, std::move(done));
}

void Delete(const Edge& edge, const v1::DeleteExperimentRequest& request,
            v1::DeleteExperimentResponse* response, Done done) {
  const model::ExperimentId id(request.experiment_id());
  const auto record = edge.store->GetExperiment(id);
  if (!record.ok()) return done(record.status());
  absl::Status unheld = CheckUnheld(*edge.store, id);
  if (!unheld.ok()) return done(std::move(unheld));
  SubmitAndFinish(edge, cluster::DeleteExperiment{id},
                  [&edge, id, response, done = std::move(done)](absl::Status applied) mutable {
                    if (!applied.ok()) return done(std::move(applied));
                    edge.pool->Post([&edge, id, response, done = std::move(done)]() mutable {
                      const auto held = edge.store->disposal().ListHeld(id);
                      if (!held.ok()) return done(held.status());
                      for (const auto& each : *held) *response->add_kept() = ToProto(each);
                      done(absl::OkStatus());
                    });
                  });
}

}  // namespace det::api
