#include "master/service/experiment_deletion.h"

#include <utility>

#include "master/service/convert.h"

namespace det::service {

namespace api = det::api::v1;

void Archive(const Edge& edge, model::ExperimentId id, bool archived, Done done) {
  const auto record = edge.store->GetExperiment(id);
  if (!record.ok()) return done(record.status());
  SubmitAndFinish(edge, cluster::ArchiveExperiment{id, archived}, std::move(done));
}

void Delete(const Edge& edge, const api::DeleteExperimentRequest& request,
            api::DeleteExperimentResponse* response, Done done) {
  const model::ExperimentId id(request.experiment_id());
  const auto record = edge.store->GetExperiment(id);
  if (!record.ok()) return done(record.status());
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

}  // namespace det::service
