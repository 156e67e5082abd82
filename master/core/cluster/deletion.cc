// Archiving, deletion and retention of ended experiments. The cluster does not keep them in memory:
// their rows are changed, and a request that was prepared from older rows is rejected.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"

namespace det::cluster {
namespace {

absl::Status CheckEnded(const Cluster::State& s, model::ExperimentId id, const char* what) {
  const auto live = s.experiments.find(id);
  if (live == s.experiments.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", id.value(), " is ",
                   std::string(model::ToString(live->second.experiment.state)),
                   "; only experiments that have ended can be ", what, "; kill it first"));
}

absl::Status BeingDeleted(model::ExperimentId id) {
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", id.value(), " is being deleted"));
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ArchiveExperiment& event) {
  DET_RETURN_IF_ERROR(CheckEnded(step.s, event.id, event.archived ? "archived" : "unarchived"));
  step.Change(SetArchived{event.id, event.archived});
  step.Effect(ExperimentChanged{event.id});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const DeleteExperiment& event) {
  DET_RETURN_IF_ERROR(CheckEnded(step.s, event.id, "deleted"));
  step.s.deleting.insert(event.id);
  step.Change(MarkDeleting{event.id});
  step.Effect(ExperimentChanged{event.id});
  step.Effect(CollectGarbageSoon{});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const SetRetention& event) {
  const auto live = step.s.experiments.find(event.id);
  if (live != step.s.experiments.end()) {
    experiment::Experiment& e = live->second.experiment;
    model::ExperimentConfig config = *e.config;
    experiment::SetRetentionPolicy(config.checkpoint_storage, event.policy);
    e.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
  } else {
    DET_RETURN_IF_ERROR(CheckNotDeleting(step.s, event.id));
  }
  step.Change(PutRetention{event.id, event.policy});
  step.Effect(ExperimentChanged{event.id});
  step.Effect(CollectGarbageSoon{});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const DeleteCheckpoints& event) {
  step.s.dropped.insert(event.ids.begin(), event.ids.end());
  if (!event.ids.empty()) step.Change(DropCheckpoints{event.ids});
  for (const TrimCheckpoint& trim : event.trims) {
    step.s.dropped.insert(trim.id);
    step.Change(trim);
  }
  step.Effect(CollectGarbageSoon{});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const RetainCheckpoints& event) {
  if (step.s.experiments.contains(event.id)) {
    return absl::AbortedError(absl::StrCat("experiment ", event.id.value(), " runs again"));
  }
  step.s.dropped.insert(event.drop.begin(), event.drop.end());
  step.Change(ApplyRetention{event.id, event.policy, event.drop});
  step.Effect(ExperimentChanged{event.id});
  return step.Finish();
}

absl::Status CheckNotDeleting(const Cluster::State& s, model::ExperimentId id) {
  return s.deleting.contains(id) ? BeingDeleted(id) : absl::OkStatus();
}

absl::Status CheckOrigins(const Cluster::State& s, const CreateExperiment& event) {
  for (const auto& id : {event.forked_from, event.warm_start_from}) {
    if (id && s.deleting.contains(*id)) return BeingDeleted(*id);
  }
  if (!event.warm_start || !s.dropped.contains(*event.warm_start)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("checkpoint ", event.warm_start->value(), " is being deleted"));
}

absl::Status CheckRows(const Cluster::State& s, const ContinueExperiment& event) {
  const model::ExperimentId id = event.rows.experiments.front().id;
  if (s.deleting.contains(id)) return BeingDeleted(id);
  for (const experiment::Trial& trial : event.rows.trials) {
    if (!trial.latest_checkpoint || !s.dropped.contains(*trial.latest_checkpoint)) continue;
    return absl::AbortedError(absl::StrCat("a checkpoint of experiment ", id.value(),
                                           " was deleted meanwhile; try again"));
  }
  return absl::OkStatus();
}

}  // namespace det::cluster
