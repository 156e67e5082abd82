#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/detached.unary.h"
#include "master/api/common/convert.h"
#include "master/api/detached/services.h"
#include "master/api/experiments/create_experiment.h"
#include "master/api/experiments/read_experiment.h"
#include "master/api/experiments/unmanaged_experiment.h"
#include "master/api/rpc/api_service.h"
#include "master/core/experiment/trial.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

// How often the creation of an experiment with an external ID is tried again, because another call
// with the same ID was faster.
constexpr int kMaxAttempts = 3;

experiment::Trial MakeTrial(const v1::CreateTrialRequest& request,
                            std::optional<std::string> external_id, model::TrialId id,
                            absl::Time now) {
  experiment::Trial trial;
  trial.id = id;
  trial.experiment = model::ExperimentId(request.experiment_id());
  trial.task = model::TaskId(absl::StrCat(request.experiment_id(), ".", id.value()));
  model::Value hparams = FromStruct(request.hparams(), Numbers::kIntegersIfWhole);
  if (hparams.AsObject() != nullptr) trial.hparams = std::move(*hparams.MutableObject());
  trial.state = model::TrialState::kPaused;
  trial.external_id = std::move(external_id);
  trial.created_at = now;
  return trial;
}

class DetachedService final : public ApiService<v1::DetachedService> {
 public:
  DetachedService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                  Authorizer& authorizer, live::ExperimentWatch& watch,
                  engine::WebhookSink& webhooks, base::ThreadPool& pool, base::EventLoop& loop,
                  const base::Clock& clock, const MasterInfo& info,
                  const ExperimentDefaults& defaults)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        authorizer_(authorizer),
        watch_(watch),
        webhooks_(webhooks),
        pool_(pool),
        loop_(loop),
        clock_(clock),
        info_(info),
        defaults_(defaults) {}

  Reactor* PutExperiment(Context* context, const v1::PutExperimentRequest* request,
                         v1::PutExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Put(*request, response, principal, kMaxAttempts, std::move(done));
                 });
  }

  Reactor* CreateTrial(Context* context, const v1::CreateTrialRequest* request,
                       v1::CreateTrialResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   absl::Status valid = CheckCreation(*request);
                   if (!valid.ok()) return done(std::move(valid));
                   AddTrial(*request, std::nullopt, response->mutable_trial(), std::move(done));
                 });
  }

  Reactor* PutTrial(Context* context, const v1::PutTrialRequest* request,
                    v1::PutTrialResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   PutTrial(*request, response, std::move(done));
                 });
  }

  Reactor* StartTrial(Context* context, const v1::StartTrialRequest* request,
                      v1::StartTrialResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(
                       const store::StartedTrial started,
                       store_.detached().StartTrial(model::TrialId(request->trial_id()),
                                                    request->resume(), clock_.Now()));
                   Notify(started.experiment);
                   response->set_trial_run_id(started.run_id);
                   if (started.latest_checkpoint) {
                     response->set_latest_checkpoint(started.latest_checkpoint->value());
                   }
                   response->set_steps_completed(static_cast<int32_t>(started.steps_completed));
                   return absl::OkStatus();
                 });
  }

  Reactor* PatchTrial(Context* context, const v1::PatchTrialRequest* request,
                      v1::PatchTrialResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Patch(*request, response, std::move(done));
                 });
  }

  Reactor* GetTrialByExternalID(Context* context, const v1::GetTrialByExternalIDRequest* request,
                                v1::GetTrialByExternalIDResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   const auto found = FindTrial(*request, principal);
                   if (!found.ok()) return done(found.status());
                   Read(*found, response->mutable_trial(), std::move(done));
                 });
  }

 private:
  void Put(const v1::PutExperimentRequest& request, v1::PutExperimentResponse* response,
           const auth::Principal& principal, int attempts, Done done) {
    const v1::CreateExperimentRequest& creation = request.create_experiment_request();
    const std::string& external_id = request.external_experiment_id();
    if (!creation.unmanaged()) {
      return done(absl::InvalidArgumentError(
          "unmanaged: only unmanaged experiments are supported; set it to true"));
    }
    absl::Status valid = CheckExternalId("external_experiment_id", external_id);
    if (!valid.ok()) return done(std::move(valid));
    auto submission =
        PrepareSubmission(store_, defaults_, info_.cluster_id, creation, Pools(), principal);
    if (!submission.ok()) return done(submission.status());
    const auto existing = store_.detached().FindExperiment(external_id);
    if (!existing.ok()) return done(existing.status());
    if (*existing) {
      const absl::Status replaced = Replace(**existing, *submission, principal);
      if (!replaced.ok()) return done(replaced);
      Notify(**existing);
      return ReadInto(**existing, response, std::move(done));
    }
    AddUnmanaged(engine_, store_, pool_, *std::move(submission), external_id, clock_.Now(),
                 [this, &request, response, principal, attempts,
                  done = std::move(done)](absl::StatusOr<model::ExperimentId> added) mutable {
                   if (absl::IsAborted(added.status()) && attempts > 1) {
                     return Put(request, response, principal, attempts - 1, std::move(done));
                   }
                   if (!added.ok()) return done(added.status());
                   ReadInto(*added, response, std::move(done));
                 });
  }

  // The caller may create experiments in the project of the configuration, but the existing
  // experiment may be in another one.
  absl::Status Replace(model::ExperimentId id, const Submission& submission,
                       const auth::Principal& principal) {
    DET_RETURN_IF_ERROR(authorizer_.AuthorizeResource(FullName("PutExperiment"), principal,
                                                      model::Permission::kUpdateExperiment,
                                                      auth::Scope::kExperiment, ToString(id)));
    return ReplaceUnmanaged(store_, id, submission);
  }

  absl::Status CheckCreation(const v1::CreateTrialRequest& request) {
    if (!request.unmanaged()) {
      return absl::InvalidArgumentError(
          "unmanaged: only unmanaged trials are supported; set it to true");
    }
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                         store_.GetExperiment(model::ExperimentId(request.experiment_id())));
    if (record.experiment.unmanaged) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("trials can only be created on unmanaged experiments; experiment ",
                     request.experiment_id(), " is managed by the cluster"));
  }

  void PutTrial(const v1::PutTrialRequest& request, v1::PutTrialResponse* response, Done done) {
    const v1::CreateTrialRequest& creation = request.create_trial_request();
    absl::Status valid = CheckExternalId("external_trial_id", request.external_trial_id());
    if (valid.ok()) valid = CheckCreation(creation);
    if (!valid.ok()) return done(std::move(valid));
    const auto existing = store_.detached().FindTrial(model::ExperimentId(creation.experiment_id()),
                                                      request.external_trial_id());
    if (!existing.ok()) return done(existing.status());
    if (!*existing) {
      return AddTrial(creation, request.external_trial_id(), response->mutable_trial(),
                      std::move(done));
    }
    StoreTrial(MakeTrial(creation, request.external_trial_id(), **existing, clock_.Now()),
               response->mutable_trial(), std::move(done));
  }

  void AddTrial(const v1::CreateTrialRequest& request, std::optional<std::string> external_id,
                v1::Trial* out, Done done) {
    ReserveId(engine_, pool_, cluster::ReserveId::Kind::kTrial,
              [this, &request, external_id = std::move(external_id), out,
               done = std::move(done)](absl::StatusOr<int32_t> id) mutable {
                if (!id.ok()) return done(id.status());
                StoreTrial(
                    MakeTrial(request, std::move(external_id), model::TrialId(*id), clock_.Now()),
                    out, std::move(done));
              });
  }

  void StoreTrial(const experiment::Trial& trial, v1::Trial* out, Done done) {
    const absl::StatusOr<model::TrialId> stored = store_.detached().PutTrial(trial);
    if (!stored.ok()) return done(stored.status());
    Notify(trial.experiment);
    Read(*stored, out, std::move(done));
  }

  void Patch(const v1::PatchTrialRequest& request, v1::PatchTrialResponse* response, Done done) {
    const model::TrialId id(request.trial_id());
    std::optional<model::TrialState> state;
    if (request.has_state()) {
      state = FromProto(request.state());
      if (!state) {
        return done(absl::InvalidArgumentError(
            absl::StrCat("state: ", v1::Trial::State_Name(request.state()),
                         " cannot be reported; expected STATE_RUNNING, STATE_PAUSED, "
                         "STATE_COMPLETED, STATE_CANCELED or STATE_ERROR")));
      }
    }
    const auto experiment = store_.detached().PatchTrial(id, state, clock_.Now());
    if (!experiment.ok()) return done(experiment.status());
    if (state) Notify(*experiment);
    Read(id, response->mutable_trial(), std::move(done));
  }

  absl::StatusOr<model::TrialId> FindTrial(const v1::GetTrialByExternalIDRequest& request,
                                           const auth::Principal& principal) {
    const absl::Status missing = absl::NotFoundError(
        absl::StrCat("not found: a trial with the external ID ", request.external_trial_id(),
                     " of an experiment with the external ID ", request.external_experiment_id()));
    DET_ASSIGN_OR_RETURN(const auto experiment,
                         store_.detached().FindExperiment(request.external_experiment_id()));
    if (!experiment) return missing;
    DET_ASSIGN_OR_RETURN(const int32_t workspace, store_.projects().GetWorkspaceId(*experiment));
    if (!principal.Holds(model::Permission::kViewExperimentMetadata, workspace)) return missing;
    DET_ASSIGN_OR_RETURN(const auto trial,
                         store_.detached().FindTrial(*experiment, request.external_trial_id()));
    if (!trial) return missing;
    return *trial;
  }

  void Read(model::TrialId id, v1::Trial* out, Done done) {
    ReadTrial(engine_, store_, pool_, clock_, id,
              [out, done = std::move(done)](absl::StatusOr<v1::Trial> trial) mutable {
                if (trial.ok()) *out = *std::move(trial);
                done(trial.status());
              });
  }

  void ReadInto(model::ExperimentId id, v1::PutExperimentResponse* response, Done done) {
    ReadExperiment(
        engine_, store_, pool_, clock_, id,
        [response, done = std::move(done)](absl::StatusOr<v1::Experiment> experiment) mutable {
          if (experiment.ok()) {
            *response->mutable_config() = experiment->config();
            *response->mutable_experiment() = *std::move(experiment);
          }
          done(experiment.status());
        });
  }

  // The experiment, or its state, has changed.
  void Notify(model::ExperimentId id) {
    loop_.Post([this, id] {
      watch_.Changed(id);
      webhooks_.Wake();
    });
  }

  engine::Engine& engine_;
  store::Store& store_;
  Authorizer& authorizer_;
  live::ExperimentWatch& watch_;
  engine::WebhookSink& webhooks_;
  base::ThreadPool& pool_;
  base::EventLoop& loop_;
  const base::Clock& clock_;
  const MasterInfo& info_;
  const ExperimentDefaults& defaults_;
};

}  // namespace

std::unique_ptr<Service> MakeDetachedService(CallPipeline& calls, engine::Engine& engine,
                                             store::Store& store, Authorizer& authorizer,
                                             live::ExperimentWatch& watch,
                                             engine::WebhookSink& webhooks, base::ThreadPool& pool,
                                             base::EventLoop& loop, const base::Clock& clock,
                                             const MasterInfo& info,
                                             const ExperimentDefaults& defaults) {
  return std::make_unique<DetachedService>(calls, engine, store, authorizer, watch, webhooks, pool,
                                           loop, clock, info, defaults);
}

}  // namespace det::api
