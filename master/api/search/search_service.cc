#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/search.grpc.pb.h"
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

// Events that are copied on the cluster's loop at a time.
constexpr size_t kSearchPortion = 1000;

// Reads the configuration with the policies of its workspace, as CreateExperiment does. If the
// workspace or project does not exist, only the cluster's policy applies.
absl::StatusOr<ValidConfig> ReadWithPolicies(store::Store& store,
                                             const ExperimentDefaults& defaults,
                                             const ConfigSubmission& submission) {
  DET_ASSIGN_OR_RETURN(const ParsedConfig parsed, ParseConfig(store, submission));
  DET_ASSIGN_OR_RETURN(ValidConfig valid, ValidateConfig(defaults, parsed, {}));
  const auto found = FindSpace(store, valid.config.workspace, valid.config.project);
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
  // It computes on a thread that others wait for.
  static std::mutex one_at_a_time;
  const std::unique_lock lock(one_at_a_time, std::try_to_lock);
  if (!lock.owns_lock()) {
    return absl::ResourceExhaustedError("another simulation runs; try again when it has ended");
  }
  const absl::Time end = clock.Now() + kSimulationLimit;
  DET_ASSIGN_OR_RETURN(*out, SimulateAgainst(valid.config, request.curves(), request.curves_path(),
                                             [&] { return clock.Now() < end; }));
  return absl::OkStatus();
}

using Brackets = std::vector<searcher::Bracket>;

// Of an experiment that is over, which the cluster has forgotten.
absl::StatusOr<Brackets> BracketsOfEnded(store::Store& store, model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(cluster::Image image, store.LoadExperiment(id));
  cluster::Cluster alone{cluster::Settings()};
  DET_RETURN_IF_ERROR(alone.Restore(std::move(image)));
  const searcher::Searcher* searcher = alone.FindSearcher(id);
  return searcher == nullptr ? Brackets() : searcher->Brackets();
}

absl::Status Describe(store::Store& store, const store::ExperimentRecord& record,
                      const Brackets& brackets, v1::Search* out) {
  const experiment::Experiment& experiment = record.experiment;
  const model::SearcherConfig& config = experiment.config->searcher;
  out->set_name(config.name);
  out->set_unit(model::LengthMetric(config));
  for (const model::Objective& objective : model::Objectives(config)) {
    v1::Search::Objective* each = out->add_objectives();
    each->set_metric(objective.metric);
    each->set_smaller_is_better(objective.smaller_is_better);
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
  for (auto& point : FrontOf(*experiment.config, validations, hparams)) {
    *out->add_front() = std::move(point);
  }
  return absl::OkStatus();
}

using EventStream = Stream<v1::SearcherEvent>;

// How far a WatchSearcherEvents has come. Of the stream's producer, which runs one at a time.
struct Reading {
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
                   DET_ASSIGN_OR_RETURN(
                       const auto history,
                       ReadHistory(store_, model::ExperimentId(request->experiment_id())));
                   for (const Validation& each : history) {
                     v1::ValidationHistoryEntry& entry = *response->add_validation_history();
                     entry.set_trial_id(each.trial.value());
                     *entry.mutable_end_time() = ToProto(each.time);
                     entry.set_searcher_metric(each.metric);
                   }
                   return absl::OkStatus();
                 });
  }

  grpc::ServerWriteReactor<v1::SearcherEvent>* WatchSearcherEvents(
      grpc::CallbackServerContext* context,
      const v1::WatchSearcherEventsRequest* request) override {
    auto reading = std::make_shared<Reading>(Reading{request->after(), request->follow()});
    return ServerStream<v1::SearcherEvent>(
        __func__, context, request,
        [this, reading, id = model::ExperimentId(request->experiment_id())](
            const auth::Principal&, std::shared_ptr<EventStream> stream) {
          Watch(id, reading, std::move(stream));
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
          // Rows are read after the searcher was asked: each trial that it names has one.
          pool_.Post([this, id, out, brackets, done = std::move(done)]() mutable {
            done(DescribeBy(id, std::move(*brackets), out));
          });
        });
  }

  // `live`: of an experiment that the cluster knows.
  absl::Status DescribeBy(model::ExperimentId id, std::optional<Brackets> live, v1::Search* out) {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store_.GetExperiment(id));
    if (!live) {
      DET_ASSIGN_OR_RETURN(live, BracketsOfEnded(store_, id));
    }
    return Describe(store_, record, *live, out);
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

  void Watch(model::ExperimentId id, std::shared_ptr<Reading> reading,
             std::shared_ptr<EventStream> stream) {
    const absl::Status known = store_.GetExperiment(id).status();
    if (!known.ok()) return stream->Close(known);
    const std::weak_ptr<EventStream> weak = stream;
    // Before the first look, so that nothing falls between the two.
    const int64_t subscription = watch_.experiments().Subscribe(id, [weak] {
      if (const auto held = weak.lock()) held->Wake();
    });
    stream->Start(
        [this, id, reading](EventStream& out) { Look(id, reading, out.shared_from_this()); },
        [this, id, subscription] { watch_.experiments().Unsubscribe(id, subscription); });
  }

  // Looks may overlap: each sends what is new to it on the cluster's loop, one after the other.
  void Look(model::ExperimentId id, std::shared_ptr<Reading> reading,
            std::shared_ptr<EventStream> stream) {
    auto events = std::make_shared<std::vector<searcher::PendingEvent>>();
    auto over = std::make_shared<bool>(false);
    engine_.Query(
        [id, events, over, reading](const cluster::Cluster& cluster) {
          const searcher::Searcher* searcher = cluster.FindSearcher(id);
          *over = searcher == nullptr;
          if (searcher != nullptr)
            *events = searcher->PendingEvents(reading->after, kSearchPortion);
        },
        [events, over, reading, stream](const absl::Status& status) {
          if (!status.ok()) return stream->Close(status);
          for (const searcher::PendingEvent& event : *events) {
            if (event.id <= reading->after) continue;
            reading->after = event.id;
            v1::SearcherEvent out;
            out.set_id(event.id);
            *out.mutable_event() = ToStruct(event.description);
            stream->Send(std::move(out));
          }
          if (events->size() == kSearchPortion) return stream->Wake();
          if (*over || !reading->follow) stream->Close(absl::OkStatus());
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
