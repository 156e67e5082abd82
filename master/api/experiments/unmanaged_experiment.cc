#include "master/api/experiments/unmanaged_experiment.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

constexpr size_t kMaxExternalIdLength = 500;

experiment::Experiment MakeExperiment(const cluster::CreateExperiment& event,
                                      std::optional<std::string> external_id,
                                      model::ExperimentId id, absl::Time now) {
  experiment::Experiment out;
  out.id = id;
  out.job = model::ToJobId(id);
  out.owner = event.owner;
  out.owner_name = event.owner_name;
  out.workspace = event.workspace;
  out.project = event.project;
  out.request_id = event.request_id;
  out.config = event.config;
  out.original_config = event.original_config;
  out.context_hash = event.context_hash;
  out.warm_start = event.warm_start;
  out.unmanaged = true;
  out.external_id = std::move(external_id);
  out.state = model::ExperimentState::kPaused;
  out.created_at = now;
  return out;
}

}  // namespace

absl::Status CheckExternalId(const char* field, const std::string& id) {
  if (id.size() <= kMaxExternalIdLength) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", id.size(), " bytes; at most ",
                                                 kMaxExternalIdLength, " are allowed"));
}

void ReserveId(engine::Engine& engine, base::ThreadPool& pool, cluster::ReserveId::Kind kind,
               absl::AnyInvocable<void(absl::StatusOr<int32_t>)> then) {
  engine.Submit(cluster::ReserveId{kind},
                [&pool, then = std::move(then)](absl::StatusOr<engine::Applied> applied) mutable {
                  pool.Post([applied = std::move(applied), then = std::move(then)]() mutable {
                    if (!applied.ok()) return then(applied.status());
                    then(applied->reserved);
                  });
                });
}

void AddUnmanaged(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                  Submission submission, std::optional<std::string> external_id, absl::Time now,
                  absl::AnyInvocable<void(absl::StatusOr<model::ExperimentId>)> then) {
  if (!submission.context.hash.empty()) {
    const absl::Status stored = store.PutContext(submission.context.hash, submission.context.tgz);
    if (!stored.ok()) return then(stored);
  }
  ReserveId(engine, pool, cluster::ReserveId::Kind::kExperiment,
            [&store, event = std::move(submission.event), external_id = std::move(external_id), now,
             then = std::move(then)](absl::StatusOr<int32_t> reserved) mutable {
              if (!reserved.ok()) return then(reserved.status());
              const model::ExperimentId id(*reserved);
              const absl::Status added = store.detached().AddExperiment(
                  MakeExperiment(event, std::move(external_id), id, now));
              if (!added.ok()) return then(added);
              then(id);
            });
}

absl::Status ReplaceUnmanaged(store::Store& store, model::ExperimentId id,
                              const Submission& submission) {
  experiment::Experiment replacement;
  replacement.id = id;
  replacement.config = submission.event.config;
  return store.detached().ReplaceConfig(replacement);
}

}  // namespace det::api
