#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/experiment_action.unary.h"
#include "master/api/authz/authorizer.h"
#include "master/api/common/convert.h"
#include "master/api/common/log_retention.h"
#include "master/api/common/project_resolver.h"
#include "master/api/experiments/bulk_query.h"
#include "master/api/experiments/experiment_deletion.h"
#include "master/api/experiments/experiment_patch.h"
#include "master/api/experiments/services.h"
#include "master/api/experiments/state_change.h"
#include "master/api/rpc/api_service.h"
#include "master/api/rpc/batch.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;

// Existing clients send -1 for experiments of any project.
constexpr int32_t kAnyProject = -1;

// The states of the experiments that an action applies to if its filters name none.
using States = std::vector<model::ExperimentState>;

States GetStates(bool (*contains)(model::ExperimentState)) {
  States states;
  for (int i = 0; i <= static_cast<int>(model::ExperimentState::kDeleted); ++i) {
    const auto state = static_cast<model::ExperimentState>(i);
    if (contains(state)) states.push_back(state);
  }
  return states;
}
States NotEnded() {
  return GetStates([](model::ExperimentState state) { return !model::IsTerminal(state); });
}
States Ended() {
  return GetStates([](model::ExperimentState state) {
    return model::IsTerminal(state) && !model::IsDeletion(state);
  });
}
States Deletable() {
  States states = Ended();
  states.push_back(model::ExperimentState::kDeleteFailed);
  return states;
}

class ExperimentActionService final : public ApiService<v1::ExperimentActionService> {
 public:
  ExperimentActionService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                          Authorizer& authorizer, base::ThreadPool& pool)
      : ApiService(calls), engine_(engine), store_(store), authorizer_(authorizer), pool_(pool) {}

  Reactor* PauseExperiments(Context* context, const v1::PauseExperimentsRequest* request,
                            v1::PauseExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, {model::ExperimentState::kActive},
                       [this](const auth::Principal&, model::ExperimentId id, Done done) {
                         Pause(engine_, store_, pool_, id, std::move(done));
                       });
  }
  Reactor* ActivateExperiments(Context* context, const v1::ActivateExperimentsRequest* request,
                               v1::ActivateExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, {model::ExperimentState::kPaused},
                       [this](const auth::Principal&, model::ExperimentId id, Done done) {
                         Activate(engine_, store_, pool_, id, std::move(done));
                       });
  }
  Reactor* CancelExperiments(Context* context, const v1::CancelExperimentsRequest* request,
                             v1::CancelExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, NotEnded(),
                       [this](const auth::Principal& caller, model::ExperimentId id, Done done) {
                         Cancel(engine_, store_, pool_, id, caller, std::move(done));
                       });
  }
  Reactor* KillExperiments(Context* context, const v1::KillExperimentsRequest* request,
                           v1::KillExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, NotEnded(),
                       [this](const auth::Principal& caller, model::ExperimentId id, Done done) {
                         Kill(engine_, store_, pool_, id, caller, std::move(done));
                       });
  }
  Reactor* ArchiveExperiments(Context* context, const v1::ArchiveExperimentsRequest* request,
                              v1::ArchiveExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, Ended(),
                       [this](const auth::Principal&, model::ExperimentId id, Done done) {
                         Archive(engine_, store_, id, true, std::move(done));
                       });
  }
  Reactor* UnarchiveExperiments(Context* context, const v1::UnarchiveExperimentsRequest* request,
                                v1::UnarchiveExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, Ended(),
                       [this](const auth::Principal&, model::ExperimentId id, Done done) {
                         Archive(engine_, store_, id, false, std::move(done));
                       });
  }
  Reactor* DeleteExperiments(Context* context, const v1::DeleteExperimentsRequest* request,
                             v1::DeleteExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, Deletable(),
                       [this](const auth::Principal&, model::ExperimentId id, Done done) {
                         v1::DeleteExperimentRequest deletion;
                         deletion.set_experiment_id(id.value());
                         const auto unused = std::make_shared<v1::DeleteExperimentResponse>();
                         Delete(engine_, store_, pool_, deletion, unused.get(),
                                [unused, done = std::move(done)](absl::Status status) mutable {
                                  done(std::move(status));
                                });
                       });
  }
  Reactor* MoveExperiments(Context* context, const v1::MoveExperimentsRequest* request,
                           v1::MoveExperimentsResponse* response) override {
    return ApplyToEach(context, __func__, request, response, States(),
                       [this, request](const auth::Principal&, model::ExperimentId id, Done done) {
                         v1::MoveExperimentRequest move;
                         move.set_experiment_id(id.value());
                         move.set_destination_project_id(request->destination_project_id());
                         Move(engine_, store_, move, std::move(done));
                       });
  }
  Reactor* PutExperimentsRetainLogs(Context* context,
                                    const v1::PutExperimentsRetainLogsRequest* request,
                                    v1::PutExperimentsRetainLogsResponse* response) override {
    return ApplyToEach(
        context, __func__, request, response, States(),
        [this, days = request->num_days()](const auth::Principal&, model::ExperimentId id,
                                           Done done) { done(SetLogRetention(store_, id, days)); });
  }

 private:
  // Calls `action` with each selected experiment that the caller may change. `states`: those that
  // filters without states select; empty: all.
  template <class Request, class Response, class Action>
  Reactor* ApplyToEach(Context* context, const char* method, const Request* request,
                       Response* response, States states, Action action) {
    return Unary(method, context, request, response,
                 ForEach(
                     pool_, "experiment", response,
                     [this, request, states = std::move(states)](const auth::Principal& caller) {
                       return SelectIds(*request, states, caller);
                     },
                     [this, method, project = request->project_id(), action = std::move(action)](
                         const auth::Principal& caller, int32_t id, Done done) mutable {
                       const absl::Status allowed =
                           CheckExperiment(method, caller, project, model::ExperimentId(id));
                       if (!allowed.ok()) return done(allowed);
                       action(caller, model::ExperimentId(id), std::move(done));
                     }));
  }

  // Returns the experiments that the request lists, or that match its filters.
  template <class Request>
  absl::StatusOr<std::vector<int32_t>> SelectIds(const Request& request, const States& states,
                                                 const auth::Principal& caller) {
    if (request.project_id() == 0) {
      return absl::InvalidArgumentError(
          "project_id is required; -1 selects experiments of any project");
    }
    if constexpr (requires { request.destination_project_id(); }) {
      const int32_t destination = request.destination_project_id();
      if (destination == 0) {
        return absl::NotFoundError("project 0 not found; destination_project_id is required");
      }
      const absl::Status found = ResolveProject(store_, destination).status();
      if (absl::IsNotFound(found)) return found;
    }
    if (request.has_filters()) {
      return FindMatching(request.filters(), request.project_id(), states, caller);
    }
    return GetUniqueIds(request.experiment_ids(), "experiment");
  }

  absl::StatusOr<std::vector<int32_t>> FindMatching(const v1::BulkExperimentFilters& filters,
                                                    int32_t project, const States& states,
                                                    const auth::Principal& caller) {
    if (filters.project_id() != 0 && filters.project_id() != project && project != kAnyProject) {
      return absl::InvalidArgumentError(absl::StrCat("filters.project_id: ", filters.project_id(),
                                                     " differs from project_id ", project));
    }
    DET_ASSIGN_OR_RETURN(const std::vector<int32_t> excluded,
                         GetUniqueIds(filters.excluded_experiment_ids(), "excluded experiment"));
    DET_ASSIGN_OR_RETURN(store::ExperimentQuery query, ToBulkQuery(filters));
    if (query.states.empty()) query.states = states;
    query.project = project != kAnyProject ? project : std::max(filters.project_id(), 0);
    query.visible = caller.Visible(model::Permission::kViewExperimentMetadata);
    query.window.limit = kMaxBatchSize + static_cast<int>(excluded.size()) + 1;
    DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store_.ListExperiments(query));
    std::vector<int32_t> matching;
    for (const store::ExperimentRecord& record : page.experiments) {
      const int32_t id = record.experiment.id.value();
      if (std::count(excluded.begin(), excluded.end(), id) == 0) matching.push_back(id);
    }
    const int num_excluded = static_cast<int>(page.experiments.size() - matching.size());
    if (matching.size() > kMaxBatchSize)
      return TooManyError(page.total - num_excluded, "experiment");
    return matching;
  }

  // Checks that the caller may call `method` for the experiment, and that the experiment is in the
  // project.
  absl::Status CheckExperiment(const char* method, const auth::Principal& caller, int32_t project,
                               model::ExperimentId id) {
    const std::string text = absl::StrCat(id.value());
    DET_RETURN_IF_ERROR(authorizer_.AuthorizeResource(FullName(method), caller,
                                                      auth::GetElementNeed(FullName(method)),
                                                      auth::Scope::kExperiment, text));
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store_.GetExperiment(id));
    if (project == kAnyProject || record.experiment.project == project) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat("project ", project, " has no experiment ", text));
  }

  engine::Engine& engine_;
  store::Store& store_;
  Authorizer& authorizer_;
  base::ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Service> MakeExperimentActionService(CallPipeline& calls, engine::Engine& engine,
                                                     store::Store& store, Authorizer& authorizer,
                                                     base::ThreadPool& pool) {
  return std::make_unique<ExperimentActionService>(calls, engine, store, authorizer, pool);
}

}  // namespace det::api
