#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "google/protobuf/util/message_differencer.h"
#include "master/service/call.h"
#include "master/service/convert.h"
#include "master/service/create_experiment.h"
#include "master/service/live.h"
#include "master/service/open_stream.h"
#include "master/service/queue_view.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

absl::StatusOr<api::Experiment> Read(const Edge& edge, model::ExperimentId id,
                                     const LiveTrials& live) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, edge.store->GetExperiment(id));
  api::Experiment out = ToProto(record, live, edge.clock->Now(), /*detail=*/true);
  DET_ASSIGN_OR_RETURN(const store::TrialPage trials, edge.store->ListTrials({.experiment = id}));
  for (const store::TrialRecord& trial : trials.trials) {
    out.add_trial_ids(trial.trial.id.value());
  }
  return out;
}

// Reads it with the live part; `then` runs on the pool.
void ReadFull(const Edge& edge, model::ExperimentId id,
              absl::AnyInvocable<void(absl::StatusOr<api::Experiment>)> then) {
  ReadLive(
      edge, id,
      [&edge, id, then = std::move(then)](const absl::StatusOr<LiveTrials>& live) mutable {
        then(live.ok() ? Read(edge, id, *live) : absl::StatusOr<api::Experiment>(live.status()));
      });
}

store::ExperimentQuery ToQuery(const api::GetExperimentsRequest& request) {
  using Sort = store::ExperimentQuery::Sort;
  store::ExperimentQuery query;
  query.window = ToWindow(request.offset(), request.limit());
  query.descending = request.order_by() == api::ORDER_BY_DESC;
  query.name = request.name();
  query.usernames.assign(request.users().begin(), request.users().end());
  for (const int state : request.states()) {
    const auto known = FromProto(static_cast<api::Experiment::State>(state));
    if (known) query.states.push_back(*known);
  }
  switch (request.sort_by()) {
    case api::GetExperimentsRequest::SORT_BY_START_TIME:
      query.sort = Sort::kStartTime;
      break;
    case api::GetExperimentsRequest::SORT_BY_END_TIME:
      query.sort = Sort::kEndTime;
      break;
    case api::GetExperimentsRequest::SORT_BY_STATE:
      query.sort = Sort::kState;
      break;
    case api::GetExperimentsRequest::SORT_BY_NUM_TRIALS:
      query.sort = Sort::kNumTrials;
      break;
    case api::GetExperimentsRequest::SORT_BY_PROGRESS:
      query.sort = Sort::kProgress;
      break;
    case api::GetExperimentsRequest::SORT_BY_USER:
      query.sort = Sort::kUser;
      break;
    case api::GetExperimentsRequest::SORT_BY_NAME:
      query.sort = Sort::kName;
      break;
    default:
      query.sort = Sort::kId;
  }
  return query;
}

// What a WatchExperiment has sent last. One look at a time, so that no older one comes second.
struct Watched {
  std::mutex mutex;
  std::optional<api::Experiment> last;
  bool looking = false;
  bool again = false;
  std::atomic<bool> waits = false;  // as of the last look: the queue's news are its own

  bool BeginLook() {
    std::lock_guard lock(mutex);
    again = looking;
    return !std::exchange(looking, true);
  }
  // Whether another look was asked for in the meantime.
  bool EndLook() {
    std::lock_guard lock(mutex);
    looking = false;
    return std::exchange(again, false);
  }
};

bool IsOver(api::Experiment::State state) {
  return state == api::Experiment::STATE_COMPLETED || state == api::Experiment::STATE_CANCELED ||
         state == api::Experiment::STATE_ERROR;
}

// The duration of a running experiment changes without any event.
bool SameNews(api::Experiment a, api::Experiment b) {
  a.clear_duration();
  b.clear_duration();
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

class ExperimentService final : public api::ExperimentService::CallbackService {
 public:
  explicit ExperimentService(const Edge& edge) : edge_(edge) {}

  grpc::ServerUnaryReactor* CreateExperiment(grpc::CallbackServerContext* context,
                                             const api::CreateExperimentRequest* request,
                                             api::CreateExperimentResponse* response) override {
    return Unary(edge_, context, "det.api.v1.ExperimentService.CreateExperiment",
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Create(*request, response, principal.user, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetExperiments(grpc::CallbackServerContext* context,
                                           const api::GetExperimentsRequest* request,
                                           api::GetExperimentsResponse* response) override {
    return Unary(edge_, context, "det.api.v1.ExperimentService.GetExperiments",
                 [this, request, response](const auth::Principal&, Done done) {
                   ReadLive(edge_, std::nullopt,
                            [this, request, response, done = std::move(done)](
                                const absl::StatusOr<LiveTrials>& live) mutable {
                              done(live.ok() ? List(*request, *live, response) : live.status());
                            });
                 });
  }

  grpc::ServerUnaryReactor* GetExperiment(grpc::CallbackServerContext* context,
                                          const api::GetExperimentRequest* request,
                                          api::GetExperimentResponse* response) override {
    return Unary(edge_, context, "det.api.v1.ExperimentService.GetExperiment",
                 [this, request, response](const auth::Principal&, Done done) {
                   Get(model::ExperimentId(request->experiment_id()), response, std::move(done));
                 });
  }

  grpc::ServerWriteReactor<api::WatchExperimentResponse>* WatchExperiment(
      grpc::CallbackServerContext* context, const api::WatchExperimentRequest* request) override {
    return OpenStream<api::WatchExperimentResponse>(
        edge_, context, "det.api.v1.ExperimentService.WatchExperiment",
        [this, id = model::ExperimentId(request->experiment_id())](
            const auth::Principal&, std::shared_ptr<Stream<api::WatchExperimentResponse>> stream) {
          Watch(id, std::move(stream));
        });
  }

  grpc::ServerUnaryReactor* PauseExperiment(grpc::CallbackServerContext* context,
                                            const api::PauseExperimentRequest* request,
                                            api::PauseExperimentResponse*) override {
    return Submit(context, "det.api.v1.ExperimentService.PauseExperiment", request->id(),
                  cluster::PauseExperiment{model::ExperimentId(request->id())},
                  "only ACTIVE experiments can be paused");
  }
  grpc::ServerUnaryReactor* ActivateExperiment(grpc::CallbackServerContext* context,
                                               const api::ActivateExperimentRequest* request,
                                               api::ActivateExperimentResponse*) override {
    return Submit(context, "det.api.v1.ExperimentService.ActivateExperiment", request->id(),
                  cluster::ActivateExperiment{model::ExperimentId(request->id())},
                  "only PAUSED experiments can be activated");
  }
  grpc::ServerUnaryReactor* CancelExperiment(grpc::CallbackServerContext* context,
                                             const api::CancelExperimentRequest* request,
                                             api::CancelExperimentResponse*) override {
    return Submit(context, "det.api.v1.ExperimentService.CancelExperiment", request->id(),
                  cluster::CancelExperiment{model::ExperimentId(request->id())},
                  "only ACTIVE or PAUSED experiments can be canceled",
                  model::ExperimentState::kCanceled);
  }
  grpc::ServerUnaryReactor* KillExperiment(grpc::CallbackServerContext* context,
                                           const api::KillExperimentRequest* request,
                                           api::KillExperimentResponse*) override {
    return Submit(context, "det.api.v1.ExperimentService.KillExperiment", request->id(),
                  cluster::KillExperiment{model::ExperimentId(request->id())},
                  "only ACTIVE or PAUSED experiments can be killed",
                  model::ExperimentState::kCanceled);
  }

  grpc::ServerUnaryReactor* ContinueExperiment(grpc::CallbackServerContext* context,
                                               const api::ContinueExperimentRequest* request,
                                               api::ContinueExperimentResponse* response) override {
    return Unary(edge_, context, "det.api.v1.ExperimentService.ContinueExperiment",
                 [this, request, response](const auth::Principal&, Done done) {
                   Continue(*request, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetModelDef(grpc::CallbackServerContext* context,
                                        const api::GetModelDefRequest* request,
                                        api::GetModelDefResponse* response) override {
    return UnaryNow(edge_, context, "det.api.v1.ExperimentService.GetModelDef",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                                           edge_.store->GetExperiment(
                                               model::ExperimentId(request->experiment_id())));
                      const std::string& hash = record.experiment.context_hash;
                      if (hash.empty()) return absl::OkStatus();
                      DET_ASSIGN_OR_RETURN(std::string tgz, edge_.store->GetContext(hash));
                      response->set_b64_tgz(std::move(tgz));
                      return absl::OkStatus();
                    });
  }

 private:
  // `rule` says what a finished experiment, which the cluster has forgotten, lacks for the request;
  // one that ended as `wanted` is what was asked for.
  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context, std::string_view method,
                                   int32_t id, cluster::Event event, const char* rule,
                                   std::optional<model::ExperimentState> wanted = std::nullopt) {
    return Unary(
        edge_, context, method,
        [this, id, event = std::move(event), rule, wanted](const auth::Principal&,
                                                           Done done) mutable {
          SubmitAndFinish(
              edge_, std::move(event),
              [this, id, rule, wanted, done = std::move(done)](absl::Status status) mutable {
                if (!absl::IsNotFound(status)) return done(std::move(status));
                edge_.pool->Post([this, id, rule, wanted, done = std::move(done)]() mutable {
                  done(JudgeFinished(model::ExperimentId(id), rule, wanted));
                });
              });
        });
  }

  absl::Status JudgeFinished(model::ExperimentId id, const char* rule,
                             std::optional<model::ExperimentState> wanted) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, edge_.store->GetExperiment(id));
    if (record.experiment.state == wanted) return absl::OkStatus();
    const std::string_view state = model::ToString(record.experiment.state);
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", id.value(), " is ", std::string(state), "; ", rule));
  }

  void Get(model::ExperimentId id, api::GetExperimentResponse* response, Done done) {
    const auto read = [this, id, response](Done done) {
      ReadFull(edge_, id,
               [response, done = std::move(done)](absl::StatusOr<api::Experiment> read) mutable {
                 if (read.ok()) {
                   *response->mutable_config() = read->config();
                   *response->mutable_experiment() = *std::move(read);
                 }
                 done(read.status());
               });
    };
    edge_.engine->Query(
        [id, response](const cluster::Cluster& cluster) {
          if (auto place = PlaceOf(cluster, id)) {
            *response->mutable_job_summary() = *std::move(place);
          }
        },
        [read, done = std::move(done)](absl::Status status) mutable {
          if (!status.ok()) return done(std::move(status));
          read(std::move(done));
        });
  }

  void Create(const api::CreateExperimentRequest& request, api::CreateExperimentResponse* response,
              model::UserId owner, Done done) {
    absl::StatusOr<Submission> submission = PrepareSubmission(edge_, request, owner);
    if (!submission.ok()) return done(submission.status());
    for (const std::string& warning : submission->warnings) response->add_config_warnings(warning);
    if (request.validate_only()) {
      const model::Value config = model::ToShownValue(*submission->event.config);
      *response->mutable_config() = ToStruct(config);
      *response->mutable_experiment()->mutable_config() = response->config();
      response->mutable_experiment()->set_name(submission->event.config->name);
      return done(absl::OkStatus());
    }
    const auto earlier = FindByRequestId(*edge_.store, request.request_id());
    if (!earlier.ok()) return done(earlier.status());
    if (earlier->has_value()) return Answer(**earlier, response, std::move(done));
    const ContextArchive& context = submission->context;
    if (!context.hash.empty()) {
      const absl::Status stored = edge_.store->PutContext(context.hash, context.tgz);
      if (!stored.ok()) return done(stored);
    }
    edge_.engine->Submit(std::move(submission->event),
                         [this, response, done = std::move(done)](
                             const absl::StatusOr<engine::Applied>& applied) mutable {
                           if (!applied.ok()) return done(applied.status());
                           if (!applied->created) {
                             return done(absl::InternalError("the experiment got no id"));
                           }
                           Answer(*applied->created, response, std::move(done));
                         });
  }

  void Continue(const api::ContinueExperimentRequest& request,
                api::ContinueExperimentResponse* response, Done done) {
    absl::StatusOr<cluster::ContinueExperiment> event = PrepareContinuation(edge_, request);
    if (!event.ok()) return done(event.status());
    const model::ExperimentId id(request.id());
    edge_.engine->Submit(
        *std::move(event), [this, id, response, done = std::move(done)](
                               const absl::StatusOr<engine::Applied>& applied) mutable {
          if (!applied.ok()) return done(applied.status());
          ReadFull(
              edge_, id,
              [response, done = std::move(done)](absl::StatusOr<api::Experiment> read) mutable {
                if (read.ok()) *response->mutable_experiment() = *std::move(read);
                done(read.status());
              });
        });
  }

  void Answer(model::ExperimentId id, api::CreateExperimentResponse* response, Done done) {
    ReadFull(
        edge_, id,
        [response, done = std::move(done)](absl::StatusOr<api::Experiment> experiment) mutable {
          if (experiment.ok()) {
            *response->mutable_config() = experiment->config();
            *response->mutable_experiment() = *std::move(experiment);
          }
          done(experiment.status());
        });
  }

  absl::Status List(const api::GetExperimentsRequest& request, const LiveTrials& live,
                    api::GetExperimentsResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentPage page,
                         edge_.store->ListExperiments(ToQuery(request)));
    for (const store::ExperimentRecord& record : page.experiments) {
      *response->add_experiments() = ToProto(record, live, edge_.clock->Now(), /*detail=*/false);
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->experiments_size(), page.total);
    return absl::OkStatus();
  }

  void Watch(model::ExperimentId id, std::shared_ptr<Stream<api::WatchExperimentResponse>> stream) {
    const std::weak_ptr<Stream<api::WatchExperimentResponse>> weak = stream;
    // Before the first look, so that nothing falls between the two.
    const int64_t subscription = edge_.watch->experiments().Subscribe(id, [weak] {
      if (const auto held = weak.lock()) held->Wake();
    });
    auto watched = std::make_shared<Watched>();
    const int64_t queue = edge_.watch->queue().Subscribe({}, [weak, watched] {
      if (!watched->waits) return;
      if (const auto held = weak.lock()) held->Wake();
    });
    stream->Start(
        [this, id, watched](Stream<api::WatchExperimentResponse>& out) {
          if (!watched->BeginLook()) return;
          ReadFull(
              edge_, id,
              [watched, held = out.shared_from_this()](absl::StatusOr<api::Experiment> experiment) {
                if (!experiment.ok()) return held->Close(experiment.status());
                SendIfNew(*watched, *std::move(experiment), *held);
                if (watched->EndLook()) held->Wake();
              });
        },
        [this, id, subscription, queue] {
          edge_.watch->experiments().Unsubscribe(id, subscription);
          edge_.watch->queue().Unsubscribe({}, queue);
        });
  }

  static void SendIfNew(Watched& watched, api::Experiment experiment,
                        Stream<api::WatchExperimentResponse>& out) {
    const bool over = IsOver(experiment.state());
    watched.waits = experiment.state() == api::Experiment::STATE_QUEUED;
    if (!watched.last || !SameNews(*watched.last, experiment)) {
      watched.last = experiment;
      api::WatchExperimentResponse response;
      *response.mutable_experiment() = std::move(experiment);
      out.Send(std::move(response));
    }
    if (over) out.Close(absl::OkStatus());
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeExperimentService(const Edge& edge) {
  return std::make_unique<ExperimentService>(edge);
}

}  // namespace det::service
