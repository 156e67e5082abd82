#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/search.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/project_resolver.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/policies/config_policy.h"
#include "master/api/rpc/api_service.h"
#include "master/api/rpc/stream.h"
#include "master/api/search/convert_search.h"
#include "master/api/search/services.h"
#include "master/api/trials/validation_history.h"
#include "master/core/searcher/searcher.h"
#include "master/parse/parse.h"

namespace det::api {
namespace {

// The maximum number of events that are copied on the engine's loop at a time.
constexpr size_t kEventPageSize = 1000;

// Reads the configuration with the policies of its workspace, as CreateExperiment does. If the
// workspace or project does not exist, only the cluster's policy applies.
absl::StatusOr<ValidConfig> ReadWithPolicies(store::Store& store,
                                             const ExperimentDefaults& defaults,
                                             const ConfigSubmission& submission) {
  DET_ASSIGN_OR_RETURN(const ParsedConfig parsed, ParseConfig(store, submission));
  DET_ASSIGN_OR_RETURN(ValidConfig valid, ValidateConfig(defaults, parsed, {}));
  const auto found = ResolveProject(store, valid.config.workspace, valid.config.project);
  DET_ASSIGN_OR_RETURN(
      ConfigPolicy policy,
      FindConfigPolicy(store, found.ok() ? found->workspace.id : 0, valid.config.workspace));
  if (!policy.layers.empty()) {
    ConfigScope scope;
    scope.policies = policy.layers;
    DET_ASSIGN_OR_RETURN(valid, ValidateConfig(defaults, parsed, scope));
  }
  DET_RETURN_IF_ERROR(ApplyLimits(policy, valid.config));
  return valid;
}

absl::Status Preview(store::Store& store, const ExperimentDefaults& defaults,
                     const v1::PreviewHPSearchRequest& request, v1::SearchSummary* out) {
  ConfigSubmission submission{.yaml = request.yaml(), .path = request.config_path()};
  submission.overrides.assign(request.config_overrides().begin(), request.config_overrides().end());
  submission.template_name = request.template_();
  submission.seed = request.seed();
  if (submission.yaml.empty()) {
    submission.yaml = FromStruct(request.config(), Numbers::kIntegersIfWhole).ToJson();
  }
  DET_ASSIGN_OR_RETURN(ValidConfig valid, ReadWithPolicies(store, defaults, submission));
  if (request.has_seed()) valid.config.experiment_seed = request.seed();
  DET_ASSIGN_OR_RETURN(const searcher::Searcher searcher, searcher::Searcher::Make(valid.config));
  *out = ToSummary(valid.config, searcher.Preview());
  return absl::OkStatus();
}

constexpr absl::Duration kSimulationLimit = absl::Seconds(60);

absl::Status Simulate(store::Store& store, const ExperimentDefaults& defaults,
                      const base::Clock& clock, const v1::SimulateSearchRequest& request,
                      v1::SimulateSearchResponse* out) {
  ConfigSubmission submission{.yaml = request.yaml(), .path = request.config_path()};
  submission.overrides.assign(request.config_overrides().begin(), request.config_overrides().end());
  submission.template_name = request.template_();
  submission.seed = request.seed();
  DET_ASSIGN_OR_RETURN(ValidConfig valid, ReadWithPolicies(store, defaults, submission));
  if (request.has_seed()) valid.config.experiment_seed = request.seed();
  // A simulation occupies a thread of the pool: only one may run at a time.
  static std::mutex one_at_a_time;
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  if (!lock.owns_lock()) {
    return absl::ResourceExhaustedError("another simulation is running; retry in a minute");
  }
  const absl::Time end = clock.Now() + kSimulationLimit;
  DET_ASSIGN_OR_RETURN(*out,
                       SimulateWithCurves(valid.config, request.curves(), request.curves_path(),
                                          [&] { return clock.Now() < end; }));
  return absl::OkStatus();
}

using Brackets = std::vector<searcher::Bracket>;

// Restores the brackets of an experiment that has ended and is no longer in the cluster's memory.
absl::StatusOr<Brackets> LoadBrackets(store::Store& store, model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(cluster::Image image, store.LoadExperiment(id));
  cluster::Cluster cluster{cluster::Settings()};
  DET_RETURN_IF_ERROR(cluster.Restore(std::move(image)));
  const searcher::Searcher* searcher = cluster.FindSearcher(id);
  return searcher == nullptr ? Brackets() : searcher->Brackets();
}

absl::Status FillSearch(store::Store& store, const store::ExperimentRecord& record,
                        const Brackets& brackets, v1::Search* out) {
  const experiment::Experiment& experiment = record.experiment;
  const model::SearcherConfig& config = experiment.config->searcher;
  out->set_name(config.name);
  out->set_unit(model::LengthMetric(config));
  for (const model::Objective& objective : model::Objectives(config)) {
    v1::Search::Objective* out_objective = out->add_objectives();
    out_objective->set_metric(objective.metric);
    out_objective->set_smaller_is_better(objective.smaller_is_better);
  }
  DET_ASSIGN_OR_RETURN(const store::TrialPage page,
                       store.ListTrials(store::MakeBareTrialQuery(experiment.id)));
  std::map<model::TrialId, model::Hparams> hparams;
  std::map<model::RequestId, SearchedTrial> searched;
  std::vector<model::TrialId> trials;
  for (const store::TrialRecord& trial : page.trials) {
    hparams.emplace(trial.trial.id, trial.trial.hparams);
    const bool failed = trial.trial.state == model::TrialState::kError;
    searched.emplace(trial.trial.request, SearchedTrial{trial.trial.id, failed});
    trials.push_back(trial.trial.id);
  }
  for (auto& bracket : ToProto(brackets, config.smaller_is_better, searched)) {
    *out->add_brackets() = std::move(bracket);
  }
  if (experiment.best_trial && experiment.best_metric) {
    out->set_best_trial_id(experiment.best_trial->value());
    out->set_best_metric(*experiment.best_metric);
    *out->mutable_best_hparams() = ToStruct(hparams[*experiment.best_trial]);
  }
  if (config.other_objectives.empty() || trials.empty()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const std::vector<model::MetricReport> validations,
                       store.ListMetrics(trials, "validation"));
  for (auto& point : ComputeFront(*experiment.config, validations, hparams)) {
    *out->add_front() = std::move(point);
  }
  return absl::OkStatus();
}

using EventStream = Stream<v1::SearcherEvent>;

// The position of a WatchSearcherEvents stream. Used by its producer, which one thread runs at a
// time.
struct EventPosition {
  int64_t after = 0;
  bool follow = false;
};

class SearchService final : public ApiService<v1::SearchService> {
 public:
  SearchService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                live::ExperimentWatch& watch, base::ThreadPool& pool, const base::Clock& clock,
                const ExperimentDefaults& defaults)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        watch_(watch),
        pool_(pool),
        clock_(clock),
        defaults_(defaults) {}

  grpc::ServerUnaryReactor* PreviewHPSearch(grpc::CallbackServerContext* context,
                                            const v1::PreviewHPSearchRequest* request,
                                            v1::PreviewHPSearchResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Preview(store_, defaults_, *request, response->mutable_summary());
                 });
  }

  grpc::ServerUnaryReactor* SimulateSearch(grpc::CallbackServerContext* context,
                                           const v1::SimulateSearchRequest* request,
                                           v1::SimulateSearchResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return Simulate(store_, defaults_, clock_, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* GetSearch(grpc::CallbackServerContext* context,
                                      const v1::GetSearchRequest* request,
                                      v1::GetSearchResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Get(model::ExperimentId(request->experiment_id()), response->mutable_search(),
                       std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetBestSearcherValidationMetric(
      grpc::CallbackServerContext* context,
      const v1::GetBestSearcherValidationMetricRequest* request,
      v1::GetBestSearcherValidationMetricResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return GetBest(model::ExperimentId(request->experiment_id()), response);
                 });
  }

  grpc::ServerUnaryReactor* GetExperimentValidationHistory(
      grpc::CallbackServerContext* context,
      const v1::GetExperimentValidationHistoryRequest* request,
      v1::GetExperimentValidationHistoryResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto history,
                                        ReadValidationHistory(
                                            store_, model::ExperimentId(request->experiment_id())));
                   for (const Validation& validation : history) {
                     v1::ValidationHistoryEntry& entry = *response->add_validation_history();
                     entry.set_trial_id(validation.trial.value());
                     *entry.mutable_end_time() = ToProto(validation.time);
                     entry.set_searcher_metric(validation.metric);
                   }
                   return absl::OkStatus();
                 });
  }

  grpc::ServerWriteReactor<v1::SearcherEvent>* WatchSearcherEvents(
      grpc::CallbackServerContext* context,
      const v1::WatchSearcherEventsRequest* request) override {
    auto position =
        std::make_shared<EventPosition>(EventPosition{request->after(), request->follow()});
    return ServerStream<v1::SearcherEvent>(
        __func__, context, request,
        [this, position, id = model::ExperimentId(request->experiment_id())](
            const auth::Principal&, std::shared_ptr<EventStream> stream) {
          Watch(id, position, std::move(stream));
        });
  }

  grpc::ServerUnaryReactor* PostSearcherOperations(
      grpc::CallbackServerContext* context, const v1::PostSearcherOperationsRequest* request,
      v1::PostSearcherOperationsResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request](const auth::Principal&, Done done) {
          absl::StatusOr<searcher::OperationsPosted> posted = FromProto(*request);
          if (!posted.ok()) return done(posted.status());
          SubmitAndFinish(engine_,
                          cluster::PostSearcherOperations{
                              model::ExperimentId(request->experiment_id()), *std::move(posted)},
                          std::move(done));
        });
  }

 private:
  void Get(model::ExperimentId id, v1::Search* out, Done done) {
    auto brackets = std::make_shared<std::optional<Brackets>>();
    engine_.Query(
        [id, brackets](const cluster::Cluster& cluster) {
          const searcher::Searcher* searcher = cluster.FindSearcher(id);
          if (searcher != nullptr) *brackets = searcher->Brackets();
        },
        [this, id, out, brackets, done = std::move(done)](const absl::Status& status) mutable {
          if (!status.ok()) return done(status);
          // Read the rows after the brackets, so that each trial in the brackets has a row.
          pool_.Post([this, id, out, brackets, done = std::move(done)]() mutable {
            done(ReadSearch(id, std::move(*brackets), out));
          });
        });
  }

  // `live` contains the brackets if the experiment is in the cluster's memory.
  absl::Status ReadSearch(model::ExperimentId id, std::optional<Brackets> live, v1::Search* out) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store_.GetExperiment(id));
    // The cluster has no searcher for an unmanaged experiment.
    if (record.experiment.unmanaged) live = Brackets();
    if (!live) {
      DET_ASSIGN_OR_RETURN(live, LoadBrackets(store_, id));
    }
    return FillSearch(store_, record, *live, out);
  }

  absl::Status GetBest(model::ExperimentId id,
                       v1::GetBestSearcherValidationMetricResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store_.GetExperiment(id));
    if (!record.experiment.best_metric) {
      return absl::NotFoundError(
          absl::StrCat("experiment ", id.value(), " has no validation metric yet"));
    }
    response->set_metric(*record.experiment.best_metric);
    return absl::OkStatus();
  }

  void Watch(model::ExperimentId id, std::shared_ptr<EventPosition> position,
             std::shared_ptr<EventStream> stream) {
    const absl::Status exists = store_.GetExperiment(id).status();
    if (!exists.ok()) return stream->Close(exists);
    const std::weak_ptr<EventStream> weak = stream;
    // Subscribe before the first read, so that no event between the two is lost.
    const int64_t subscription = watch_.experiments().Subscribe(id, [weak] {
      if (const auto held = weak.lock()) held->Wake();
    });
    stream->Start([this, id, position](
                      EventStream& out) { SendNewEvents(id, position, out.shared_from_this()); },
                  [this, id, subscription] { watch_.experiments().Unsubscribe(id, subscription); });
  }

  // Calls may overlap. Each compares with `position` on the engine's loop, where they run one after
  // the other, so that no event is sent twice.
  void SendNewEvents(model::ExperimentId id, std::shared_ptr<EventPosition> position,
                     std::shared_ptr<EventStream> stream) {
    auto events = std::make_shared<std::vector<searcher::PendingEvent>>();
    auto ended = std::make_shared<bool>(false);
    engine_.Query(
        [id, events, ended, position](const cluster::Cluster& cluster) {
          const searcher::Searcher* searcher = cluster.FindSearcher(id);
          *ended = searcher == nullptr;
          if (searcher != nullptr)
            *events = searcher->PendingEvents(position->after, kEventPageSize);
        },
        [events, ended, position, stream](const absl::Status& status) {
          if (!status.ok()) return stream->Close(status);
          for (const searcher::PendingEvent& event : *events) {
            if (event.id <= position->after) continue;
            position->after = event.id;
            v1::SearcherEvent out;
            out.set_id(event.id);
            *out.mutable_event() = ToStruct(event.description);
            stream->Send(std::move(out));
          }
          if (events->size() == kEventPageSize) return stream->Wake();
          if (*ended || !position->follow) stream->Close(absl::OkStatus());
        });
  }

  engine::Engine& engine_;
  store::Store& store_;
  live::ExperimentWatch& watch_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  const ExperimentDefaults& defaults_;
};

}  // namespace

std::unique_ptr<Service> MakeSearchService(CallPipeline& calls, engine::Engine& engine,
                                           store::Store& store, live::ExperimentWatch& watch,
                                           base::ThreadPool& pool, const base::Clock& clock,
                                           const ExperimentDefaults& defaults) {
  return std::make_unique<SearchService>(calls, engine, store, watch, pool, clock, defaults);
}

}  // namespace det::api
