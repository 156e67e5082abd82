#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/experiment.unary.h"
#include "master/api/common/checkpoint_storages.h"
#include "master/api/common/convert.h"
#include "master/api/common/live_trials.h"
#include "master/api/common/project_resolver.h"
#include "master/api/experiments/create_experiment.h"
#include "master/api/experiments/experiment_deletion.h"
#include "master/api/experiments/experiment_patch.h"
#include "master/api/experiments/read_experiment.h"
#include "master/api/experiments/services.h"
#include "master/api/experiments/state_change.h"
#include "master/api/experiments/unmanaged_experiment.h"
#include "master/api/experiments/watch_experiment.h"
#include "master/api/queue/queue_view.h"
#include "master/api/rpc/api_service.h"
#include "master/api/rpc/local_call.h"
#include "master/checkpoint_storage/experiment_files.h"
#include "master/core/searcher/searcher.h"
#include "proto/json_writer.h"

namespace det::api {
namespace {

template <class Response>
void AddLaunchWarnings(const engine::Applied& applied, Response* response) {
  if (applied.exceeds_capacity) {
    response->add_warnings(v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED);
  }
}

class ExperimentService final : public ApiService<v1::ExperimentService> {
 public:
  ExperimentService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                    live::ExperimentWatch& watch, base::ThreadPool& pool, const base::Clock& clock,
                    const MasterInfo& info, const ExperimentDefaults& defaults)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        watch_(watch),
        pool_(pool),
        clock_(clock),
        info_(info),
        defaults_(defaults),
        reader_(std::make_shared<SharedExperimentReader>(engine_, store_, pool_, clock_)) {}

  grpc::ServerUnaryReactor* CreateExperiment(grpc::CallbackServerContext* context,
                                             const v1::CreateExperimentRequest* request,
                                             v1::CreateExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Create(*request, response, principal, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetExperiments(grpc::CallbackServerContext* context,
                                           const v1::GetExperimentsRequest* request,
                                           v1::GetExperimentsResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response, written = GetWrittenParts(*context)](
            const auth::Principal& principal, Done done) mutable {
          QueryLiveTrials(
              engine_, pool_, std::nullopt,
              [this, request, response,
               visible = principal.Visible(model::Permission::kViewExperimentMetadata),
               written = std::move(written),
               done = std::move(done)](const absl::StatusOr<LiveTrials>& live) mutable {
                done(live.ok() ? List(*request, std::move(visible), *live, response, written.get())
                               : live.status());
              });
        });
  }

  grpc::ServerUnaryReactor* GetExperiment(grpc::CallbackServerContext* context,
                                          const v1::GetExperimentRequest* request,
                                          v1::GetExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response, written = GetWrittenParts(*context)](
                     const auth::Principal&, Done done) mutable {
                   Get(model::ExperimentId(request->experiment_id()), response, std::move(written),
                       std::move(done));
                 });
  }

  grpc::ServerWriteReactor<v1::WatchExperimentResponse>* WatchExperiment(
      grpc::CallbackServerContext* context, const v1::WatchExperimentRequest* request) override {
    return ServerStream<v1::WatchExperimentResponse>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::WatchExperimentResponse>> stream) {
          api::WatchExperiment(watch_, reader_, request, std::move(stream));
        });
  }

  grpc::ServerUnaryReactor* PauseExperiment(grpc::CallbackServerContext* context,
                                            const v1::PauseExperimentRequest* request,
                                            v1::PauseExperimentResponse*) override {
    return ChangeState(context, __func__, request, &Pause);
  }
  grpc::ServerUnaryReactor* ActivateExperiment(grpc::CallbackServerContext* context,
                                               const v1::ActivateExperimentRequest* request,
                                               v1::ActivateExperimentResponse*) override {
    return ChangeState(context, __func__, request, &Activate);
  }
  grpc::ServerUnaryReactor* CancelExperiment(grpc::CallbackServerContext* context,
                                             const v1::CancelExperimentRequest* request,
                                             v1::CancelExperimentResponse*) override {
    return ChangeState(context, __func__, request, &Cancel);
  }
  grpc::ServerUnaryReactor* KillExperiment(grpc::CallbackServerContext* context,
                                           const v1::KillExperimentRequest* request,
                                           v1::KillExperimentResponse*) override {
    return ChangeState(context, __func__, request, &Kill);
  }

  grpc::ServerUnaryReactor* ContinueExperiment(grpc::CallbackServerContext* context,
                                               const v1::ContinueExperimentRequest* request,
                                               v1::ContinueExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Continue(*request, principal, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* ArchiveExperiment(grpc::CallbackServerContext* context,
                                              const v1::ArchiveExperimentRequest* request,
                                              v1::ArchiveExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, id = request->id()](const auth::Principal&, Done done) {
                   Archive(engine_, store_, model::ExperimentId(id), true, std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* UnarchiveExperiment(
      grpc::CallbackServerContext* context, const v1::UnarchiveExperimentRequest* request,
      v1::UnarchiveExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, id = request->id()](const auth::Principal&, Done done) {
                   Archive(engine_, store_, model::ExperimentId(id), false, std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* DeleteExperiment(grpc::CallbackServerContext* context,
                                             const v1::DeleteExperimentRequest* request,
                                             v1::DeleteExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Delete(engine_, store_, pool_, *request, response, std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* DeleteTensorboardFiles(
      grpc::CallbackServerContext* context, const v1::DeleteTensorboardFilesRequest* request,
      v1::DeleteTensorboardFilesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, id = model::ExperimentId(request->experiment_id())](
                     const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto record, store_.GetExperiment(id));
                   const auto& storage = record.experiment.config->checkpoint_storage;
                   DET_RETURN_IF_ERROR(CheckReachable(record.experiment, storage));
                   if (!model::IsTerminal(record.experiment.state)) {
                     return absl::FailedPreconditionError(absl::StrCat(
                         "experiment ", id.value(), " is ",
                         std::string(model::ToString(record.experiment.state)),
                         " and its trials write TensorBoard files; wait for its end, or kill it"));
                   }
                   return checkpoint_storage::RemoveTensorboardFiles(
                       defaults_.checkpoint_locations.buckets, storage, info_.cluster_id, id);
                 });
  }
  grpc::ServerUnaryReactor* PatchExperiment(grpc::CallbackServerContext* context,
                                            const v1::PatchExperimentRequest* request,
                                            v1::PatchExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Patch(engine_, store_, pool_, clock_, *request, response, std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* MoveExperiment(grpc::CallbackServerContext* context,
                                           const v1::MoveExperimentRequest* request,
                                           v1::MoveExperimentResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&, Done done) {
                   Move(engine_, store_, *request, std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* GetExperimentLabels(
      grpc::CallbackServerContext* context, const v1::GetExperimentLabelsRequest* request,
      v1::GetExperimentLabelsResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& principal) -> absl::Status {
          const auto visible = principal.Visible(model::Permission::kViewExperimentMetadata);
          if (request->project_id() != 0) {
            DET_RETURN_IF_ERROR(CheckProjectIsVisible(store_, request->project_id(), visible));
          }
          DET_ASSIGN_OR_RETURN(const std::vector<std::string> labels,
                               store_.projects().ListLabels(request->project_id(), visible));
          response->mutable_labels()->Assign(labels.begin(), labels.end());
          return absl::OkStatus();
        });
  }
  grpc::ServerUnaryReactor* PutExperimentLabel(grpc::CallbackServerContext* context,
                                               const v1::PutExperimentLabelRequest* request,
                                               v1::PutExperimentLabelResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   SetLabel(engine_, store_, model::ExperimentId(request->experiment_id()),
                            request->label(), true, response->mutable_labels(), std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* DeleteExperimentLabel(
      grpc::CallbackServerContext* context, const v1::DeleteExperimentLabelRequest* request,
      v1::DeleteExperimentLabelResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   SetLabel(engine_, store_, model::ExperimentId(request->experiment_id()),
                            request->label(), false, response->mutable_labels(), std::move(done));
                 });
  }
  grpc::ServerUnaryReactor* PreviewRetention(grpc::CallbackServerContext* context,
                                             const v1::PreviewRetentionRequest* request,
                                             v1::PreviewRetentionResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Preview(store_, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* GetModelDef(grpc::CallbackServerContext* context,
                                        const v1::GetModelDefRequest* request,
                                        v1::GetModelDefResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(
                       const store::ExperimentRecord record,
                       store_.GetExperiment(model::ExperimentId(request->experiment_id())));
                   const std::string& hash = record.experiment.context_hash;
                   if (hash.empty()) return absl::OkStatus();
                   DET_ASSIGN_OR_RETURN(std::string tgz, store_.GetContext(hash));
                   response->set_b64_tgz(std::move(tgz));
                   return absl::OkStatus();
                 });
  }

 private:
  template <class Request>
  grpc::ServerUnaryReactor* ChangeState(grpc::CallbackServerContext* context, const char* method,
                                        const Request* request,
                                        void (*change)(engine::Engine&, store::Store&,
                                                       base::ThreadPool&, model::ExperimentId,
                                                       Done)) {
    return Unary(method, context, request, nullptr,
                 [this, id = request->id(), change](const auth::Principal&, Done done) {
                   change(engine_, store_, pool_, model::ExperimentId(id), std::move(done));
                 });
  }
  // The same with a change that names the caller.
  template <class Request>
  grpc::ServerUnaryReactor* ChangeState(grpc::CallbackServerContext* context, const char* method,
                                        const Request* request,
                                        void (*change)(engine::Engine&, store::Store&,
                                                       base::ThreadPool&, model::ExperimentId,
                                                       const auth::Principal&, Done)) {
    return Unary(method, context, request, nullptr,
                 [this, id = request->id(), change](const auth::Principal& caller, Done done) {
                   change(engine_, store_, pool_, model::ExperimentId(id), caller, std::move(done));
                 });
  }

  // `written` may be null.
  void Get(model::ExperimentId id, v1::GetExperimentResponse* response,
           std::shared_ptr<proto::WrittenParts> written, Done done) {
    ReadExperiment(
        engine_, store_, pool_, clock_, id,
        [response, written, done = std::move(done)](absl::StatusOr<v1::Experiment> read) mutable {
          if (read.ok()) {
            *response->mutable_config() = read->config();
            if (written != nullptr) written->Repeat(read->config(), response->config());
            *response->mutable_experiment() = *std::move(read);
          }
          done(read.status());
        },
        written,
        [id, response](const cluster::Cluster& cluster) {
          if (auto place = GetJobSummary(cluster, id)) {
            *response->mutable_job_summary() = *std::move(place);
          }
        });
  }

  void Create(const v1::CreateExperimentRequest& request, v1::CreateExperimentResponse* response,
              const auth::Principal& principal, Done done) {
    const auto pools = std::make_shared<Pools>();
    engine_.Query(
        [pools](const cluster::Cluster& cluster) {
          pools->default_compute = cluster.default_compute();
          pools->default_aux = cluster.default_aux();
          for (const cluster::KnownPool& known : cluster.pools()) {
            pools->names.push_back(known.pool.name);
          }
        },
        [this, &request, response, principal, pools,
         done = std::move(done)](absl::Status status) mutable {
          if (!status.ok()) return done(std::move(status));
          pool_.Post(
              [this, &request, response, principal, pools, done = std::move(done)]() mutable {
                CreateWithPools(*pools, request, response, principal, std::move(done));
              });
        });
  }

  void CreateWithPools(const Pools& pools, const v1::CreateExperimentRequest& request,
                       v1::CreateExperimentResponse* response, const auth::Principal& principal,
                       Done done) {
    absl::StatusOr<Submission> submission =
        PrepareSubmission(store_, defaults_, info_.cluster_id, request, pools, principal);
    if (!submission.ok()) return done(submission.status());
    for (const std::string& warning : submission->warnings) response->add_config_warnings(warning);
    if (request.validate_only()) {
      const model::ExperimentConfig& checked = *submission->event.config;
      if (!request.unmanaged()) {
        // The creation would refuse it, too, such as a grid with too many points.
        const absl::Status searchable = searcher::Searcher::Make(checked).status();
        if (!searchable.ok()) return done(searchable);
      }
      const model::Value config = model::ToShownValue(*submission->event.config);
      *response->mutable_config() = ToStruct(config);
      *response->mutable_experiment()->mutable_config() = response->config();
      response->mutable_experiment()->set_name(submission->event.config->name);
      return done(absl::OkStatus());
    }
    const auto earlier = FindByRequestId(store_, principal.user, request.request_id());
    if (!earlier.ok()) return done(earlier.status());
    if (earlier->has_value()) return ReadCreated(**earlier, response, std::move(done));
    if (request.unmanaged()) {
      return AddUnmanaged(
          engine_, store_, pool_, *std::move(submission), std::nullopt, clock_.Now(),
          [this, response,
           done = std::move(done)](absl::StatusOr<model::ExperimentId> added) mutable {
            if (!added.ok()) return done(added.status());
            ReadCreated(*added, response, std::move(done));
          });
    }
    const ContextArchive& context = submission->context;
    if (!context.hash.empty()) {
      const absl::Status stored = store_.PutContext(context.hash, context.tgz);
      if (!stored.ok()) return done(stored);
    }
    SubmitAndContinue(
        engine_, std::move(submission->event),
        [this, response](const engine::Applied& applied, Done finish) {
          if (!applied.created) {
            return finish(absl::InternalError("no experiment ID was assigned"));
          }
          AddLaunchWarnings(applied, response);
          ReadCreated(*applied.created, response, std::move(finish));
        },
        std::move(done));
  }

  void Continue(const v1::ContinueExperimentRequest& request, const auth::Principal& principal,
                v1::ContinueExperimentResponse* response, Done done) {
    absl::StatusOr<cluster::ContinueExperiment> event =
        PrepareContinuation(store_, defaults_, request, principal);
    if (!event.ok()) return done(event.status());
    SubmitAndContinue(
        engine_, *std::move(event),
        [this, id = model::ExperimentId(request.id()), response](const engine::Applied& applied,
                                                                 Done finish) {
          AddLaunchWarnings(applied, response);
          ReadExperiment(
              engine_, store_, pool_, clock_, id,
              [response, finish = std::move(finish)](absl::StatusOr<v1::Experiment> read) mutable {
                if (read.ok()) *response->mutable_experiment() = *std::move(read);
                finish(read.status());
              });
        },
        std::move(done));
  }

  void ReadCreated(model::ExperimentId id, v1::CreateExperimentResponse* response, Done done) {
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

  absl::Status List(const v1::GetExperimentsRequest& request,
                    std::optional<std::vector<int32_t>> visible, const LiveTrials& live,
                    v1::GetExperimentsResponse* response, proto::WrittenParts* written) {
    if (request.project_id() != 0) {
      DET_RETURN_IF_ERROR(CheckProjectIsVisible(store_, request.project_id(), visible));
    }
    store::ExperimentQuery query = ToQuery(request);
    query.visible = std::move(visible);
    DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store_.ListExperiments(query));
    for (const store::ExperimentRecord& record : page.experiments) {
      *response->add_experiments() = ToProto(record, live, clock_.Now(), /*detail=*/false, written);
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->experiments_size(), page.total);
    return absl::OkStatus();
  }

  engine::Engine& engine_;
  store::Store& store_;
  live::ExperimentWatch& watch_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  const MasterInfo& info_;
  const ExperimentDefaults& defaults_;
  const std::shared_ptr<SharedExperimentReader> reader_;
};

}  // namespace

std::unique_ptr<Service> MakeExperimentService(CallPipeline& calls, engine::Engine& engine,
                                               store::Store& store, live::ExperimentWatch& watch,
                                               base::ThreadPool& pool, const base::Clock& clock,
                                               const MasterInfo& info,
                                               const ExperimentDefaults& defaults) {
  return std::make_unique<ExperimentService>(calls, engine, store, watch, pool, clock, info,
                                             defaults);
}

}  // namespace det::api
