#include "master/api/experiments/experiment_patch.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/checkpoint_storages.h"
#include "master/api/common/convert.h"
#include "master/api/common/project_resolver.h"
#include "master/api/experiments/read_experiment.h"
#include "master/api/policies/config_policy.h"
#include "master/checkpoint_storage/checkpoint_location.h"
#include "master/core/experiment/retention.h"
#include "master/store/interfaces/retention_candidates.h"

namespace det::api {
namespace {

constexpr size_t kExperimentNameLimit = 1024;
constexpr size_t kExperimentTextLimit = 1 << 20;

// Returns the experiment's retention policy with the fields that are set in the message.
template <class Message>
absl::StatusOr<experiment::RetentionPolicy> ReadPolicy(const experiment::Experiment& experiment,
                                                       const Message& message) {
  experiment::RetentionPolicy policy =
      experiment::GetRetentionPolicy(experiment.config->checkpoint_storage);
  if (message.has_save_experiment_best()) policy.experiment_best = message.save_experiment_best();
  if (message.has_save_trial_best()) policy.trial_best = message.save_trial_best();
  if (message.has_save_trial_latest()) policy.trial_latest = message.save_trial_latest();
  if (policy.experiment_best < 0 || policy.trial_best < 0 || policy.trial_latest < 0) {
    return absl::InvalidArgumentError(
        "save_experiment_best, save_trial_best and save_trial_latest must not be negative");
  }
  return policy;
}

absl::Status CheckNotDeleted(const experiment::Experiment& experiment) {
  if (!model::IsDeletion(experiment.state)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("experiment ", experiment.id.value(), " is ",
                                                    std::string(ToString(experiment.state))));
}

absl::Status CheckLength(const char* field, const std::string& text, size_t limit) {
  if (text.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": ", text.size(), " bytes; the limit is ", limit));
}

absl::Status CheckLabel(const std::string& label) {
  if (label.empty()) return absl::InvalidArgumentError("labels: a label must not be empty");
  return CheckLength("labels", label, kExperimentNameLimit);
}

absl::StatusOr<std::vector<std::string>> ReadLabels(const google::protobuf::ListValue& given) {
  std::vector<std::string> labels;
  for (const google::protobuf::Value& value : given.values()) {
    if (value.kind_case() != google::protobuf::Value::kStringValue) {
      return absl::InvalidArgumentError("labels: expected a list of strings");
    }
    DET_RETURN_IF_ERROR(CheckLabel(value.string_value()));
    const bool duplicate = std::count(labels.begin(), labels.end(), value.string_value()) > 0;
    if (!duplicate) labels.push_back(value.string_value());
  }
  return labels;
}

absl::StatusOr<cluster::ExperimentDetails> ReadExperimentDetails(const v1::PatchExperiment& given) {
  cluster::ExperimentDetails details;
  if (given.has_name()) {
    if (given.name().empty()) return absl::InvalidArgumentError("name: must not be empty");
    DET_RETURN_IF_ERROR(CheckLength("name", given.name(), kExperimentNameLimit));
    details.name = given.name();
  }
  if (given.has_description()) {
    DET_RETURN_IF_ERROR(CheckLength("description", given.description(), kExperimentTextLimit));
    details.description = given.description();
  }
  if (given.has_labels()) {
    DET_ASSIGN_OR_RETURN(details.labels, ReadLabels(given.labels()));
  }
  if (given.has_notes()) {
    DET_RETURN_IF_ERROR(CheckLength("notes", given.notes(), kExperimentTextLimit));
    details.notes = given.notes();
  }
  return details;
}

cluster::UpdateQueue ReadResources(const experiment::Experiment& e,
                                   const v1::PatchExperiment::PatchResources& given) {
  cluster::UpdateQueue::Update update{.job = e.job};
  if (given.has_max_slots()) update.max_slots = given.max_slots();
  if (given.has_weight()) update.weight = given.weight();
  if (given.has_priority()) update.priority = given.priority();
  return {.updates = {std::move(update)}};
}

// Converts the request to events. The one that the cluster may reject comes first, so that nothing
// is changed then.
absl::StatusOr<std::deque<cluster::Event>> ReadEvents(const experiment::Experiment& e,
                                                      const v1::PatchExperiment& given) {
  std::deque<cluster::Event> events;
  if (given.has_resources()) events.emplace_back(ReadResources(e, given.resources()));
  DET_ASSIGN_OR_RETURN(cluster::ExperimentDetails details, ReadExperimentDetails(given));
  if (!(details == cluster::ExperimentDetails())) {
    events.emplace_back(cluster::UpdateExperimentDetails{e.id, std::move(details)});
  }
  if (given.has_checkpoint_storage()) {
    DET_ASSIGN_OR_RETURN(const auto policy, ReadPolicy(e, given.checkpoint_storage()));
    events.emplace_back(cluster::SetRetention{e.id, policy});
  }
  return events;
}

// Submits the events one after the other until one is rejected.
void SubmitAll(engine::Engine& engine, std::shared_ptr<std::deque<cluster::Event>> events,
               Done done) {
  if (events->empty()) return done(absl::OkStatus());
  cluster::Event event = std::move(events->front());
  events->pop_front();
  SubmitAndFinish(engine, std::move(event),
                  [&engine, events, done = std::move(done)](absl::Status applied) mutable {
                    if (!applied.ok()) return done(std::move(applied));
                    SubmitAll(engine, events, std::move(done));
                  });
}

}  // namespace

void Patch(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
           const base::Clock& clock, const v1::PatchExperimentRequest& request,
           v1::PatchExperimentResponse* response, Done done) {
  const model::ExperimentId id(request.experiment().id());
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  if (absl::Status deleted = CheckNotDeleted(record->experiment); !deleted.ok()) {
    return done(std::move(deleted));
  }
  auto events = ReadEvents(record->experiment, request.experiment());
  if (!events.ok()) return done(events.status());
  for (const cluster::Event& event : *events) {
    absl::Status allowed;
    if (const auto* update = event.As<cluster::UpdateQueue>()) {
      allowed = CheckQueueUpdate(store, *update);
    } else if (const auto* retention = event.As<cluster::SetRetention>()) {
      allowed = CheckRetentionUpdate(store, record->experiment, retention->policy);
    }
    if (!allowed.ok()) return done(std::move(allowed));
  }
  SubmitAll(engine, std::make_shared<std::deque<cluster::Event>>(*std::move(events)),
            [&engine, &store, &pool, &clock, id, response,
             done = std::move(done)](absl::Status applied) mutable {
              if (!applied.ok()) return done(std::move(applied));
              ReadExperiment(
                  engine, store, pool, clock, id,
                  [response, done = std::move(done)](absl::StatusOr<v1::Experiment> read) mutable {
                    if (read.ok()) *response->mutable_experiment() = *std::move(read);
                    done(read.status());
                  });
            });
}

void Move(engine::Engine& engine, store::Store& store, const v1::MoveExperimentRequest& request,
          Done done) {
  const model::ExperimentId id(request.experiment_id());
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  if (absl::Status deleted = CheckNotDeleted(record->experiment); !deleted.ok()) {
    return done(std::move(deleted));
  }
  if (record->archived) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("experiment ", id.value(),
                     " is archived and cannot be moved; unarchive it before you move it")));
  }
  const auto from = store.projects().GetProject(record->experiment.project);
  if (from.ok() && from->archived) return done(store::ProjectIsArchived(from->name));
  const auto project = ResolveProject(store, request.destination_project_id());
  if (!project.ok()) return done(project.status());
  SubmitAndFinish(engine, cluster::MoveExperiment{id, project->project_ref}, std::move(done));
}

void SetLabel(engine::Engine& engine, store::Store& store, model::ExperimentId id,
              const std::string& label, bool add, Labels* labels, Done done) {
  if (absl::Status valid = CheckLabel(label); !valid.ok()) return done(std::move(valid));
  const auto record = store.GetExperiment(id);
  if (!record.ok()) return done(record.status());
  if (absl::Status deleted = CheckNotDeleted(record->experiment); !deleted.ok()) {
    return done(std::move(deleted));
  }
  std::vector<std::string> result = record->experiment.config->labels;
  const bool has = std::count(result.begin(), result.end(), label) > 0;
  if (add && !has) result.push_back(label);
  if (!add) std::erase(result, label);
  labels->Assign(result.begin(), result.end());
  if (add == has) return done(absl::OkStatus());
  cluster::ExperimentDetails details;
  details.labels = std::move(result);
  SubmitAndFinish(engine, cluster::UpdateExperimentDetails{id, std::move(details)},
                  std::move(done));
}

absl::Status Preview(store::Store& store, const v1::PreviewRetentionRequest& request,
                     v1::PreviewRetentionResponse* response) {
  const model::ExperimentId id(request.id());
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
  DET_RETURN_IF_ERROR(CheckNotDeleted(record.experiment));
  const model::ExperimentConfig& config = *record.experiment.config;
  DET_ASSIGN_OR_RETURN(const experiment::RetentionPolicy policy,
                       ReadPolicy(record.experiment, request));
  DET_ASSIGN_OR_RETURN(const auto all, store::ListRetentionCandidates(store, id));
  const std::vector<model::CheckpointId> selected =
      experiment::SelectForRemoval(policy, config.searcher.smaller_is_better, all);
  const std::set<model::CheckpointId> removed(selected.begin(), selected.end());
  store::CheckpointQuery query;
  query.experiment = id;
  DET_ASSIGN_OR_RETURN(const store::CheckpointPage page, store.ListCheckpoints(query));
  const google::protobuf::Struct shown = ToStruct(ToShownConfig(record));
  CheckpointStorages storages(store);
  for (const store::CheckpointEntry& entry : page.checkpoints) {
    const model::CheckpointId& checkpoint = entry.checkpoint.id;
    if (!removed.contains(checkpoint)) continue;
    DET_ASSIGN_OR_RETURN(const auto storage,
                         storages.Find(entry.checkpoint, config.checkpoint_storage));
    *response->add_checkpoints() =
        ToProto(entry, checkpoint_storage::GetCheckpointFolder(storage, checkpoint), shown);
  }
  response->set_kept(static_cast<int32_t>(all.size() - removed.size()));
  return absl::OkStatus();
}

}  // namespace det::api
