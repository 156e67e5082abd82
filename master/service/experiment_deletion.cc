#include "master/service/experiment_deletion.h"

#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/experiment/retention.h"
#include "master/service/checkpoint_place.h"
#include "master/service/convert.h"
#include "master/service/read_experiment.h"
#include "master/store/retainable.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

// The experiment's policy with what the message names put over it.
template <class Message>
absl::StatusOr<experiment::RetentionPolicy> ReadPolicy(const experiment::Experiment& experiment,
                                                       const Message& message) {
  experiment::RetentionPolicy policy = experiment::PolicyOf(experiment.config->checkpoint_storage);
  if (message.has_save_experiment_best()) policy.experiment_best = message.save_experiment_best();
  if (message.has_save_trial_best()) policy.trial_best = message.save_trial_best();
  if (message.has_save_trial_latest()) policy.trial_latest = message.save_trial_latest();
  if (policy.experiment_best < 0 || policy.trial_best < 0 || policy.trial_latest < 0) {
    return absl::InvalidArgumentError(
        "save_experiment_best, save_trial_best and save_trial_latest: must not be negative");
  }
  return policy;
}

absl::Status CheckNotDeleted(const experiment::Experiment& experiment) {
  if (!model::IsDeletion(experiment.state)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("experiment ", experiment.id.value(), " is ",
                                                    std::string(ToString(experiment.state))));
}

}  // namespace

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

void Patch(const Edge& edge, const api::PatchExperimentRequest& request,
           api::PatchExperimentResponse* response, Done done) {
  const model::ExperimentId id(request.experiment().id());
  const auto record = edge.store->GetExperiment(id);
  if (!record.ok()) return done(record.status());
  if (absl::Status deleted = CheckNotDeleted(record->experiment); !deleted.ok()) {
    return done(std::move(deleted));
  }
  const auto policy = ReadPolicy(record->experiment, request.experiment().checkpoint_storage());
  if (!policy.ok()) return done(policy.status());
  SubmitAndFinish(
      edge, cluster::SetRetention{id, *policy},
      [&edge, id, response, done = std::move(done)](absl::Status applied) mutable {
        if (!applied.ok()) return done(std::move(applied));
        ReadFull(edge, id,
                 [response, done = std::move(done)](absl::StatusOr<api::Experiment> read) mutable {
                   if (read.ok()) *response->mutable_experiment() = *std::move(read);
                   done(read.status());
                 });
      });
}

absl::Status Preview(const Edge& edge, const api::PreviewRetentionRequest& request,
                     api::PreviewRetentionResponse* response) {
  const model::ExperimentId id(request.id());
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, edge.store->GetExperiment(id));
  DET_RETURN_IF_ERROR(CheckNotDeleted(record.experiment));
  const model::ExperimentConfig& config = *record.experiment.config;
  DET_ASSIGN_OR_RETURN(const experiment::RetentionPolicy policy,
                       ReadPolicy(record.experiment, request));
  DET_ASSIGN_OR_RETURN(const auto all, store::ListRetainable(*edge.store, id));
  std::set<model::CheckpointId> drop;
  for (const model::CheckpointId& each :
       experiment::NotRetained(policy, config.searcher.smaller_is_better, all)) {
    drop.insert(each);
  }
  store::CheckpointQuery query;
  query.experiment = id;
  DET_ASSIGN_OR_RETURN(const store::CheckpointPage page, edge.store->ListCheckpoints(query));
  for (const store::CheckpointEntry& entry : page.checkpoints) {
    const model::CheckpointId& checkpoint = entry.checkpoint.id;
    if (!drop.contains(checkpoint)) continue;
    *response->add_checkpoints() =
        ToProto(entry, CheckpointFolder(config.checkpoint_storage, checkpoint));
  }
  response->set_kept(static_cast<int32_t>(all.size() - drop.size()));
  return absl::OkStatus();
}

}  // namespace det::service
