#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/run_action.unary.h"
#include "master/api/authz/authorizer.h"
#include "master/api/experiments/experiment_deletion.h"
#include "master/api/experiments/experiment_patch.h"
#include "master/api/experiments/state_change.h"
#include "master/api/rpc/api_service.h"
#include "master/api/rpc/batch.h"
#include "master/api/trials/services.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using store::Table;

// What an action changes. An action on the experiment is allowed only if it has a single run.
enum class Target { kRun, kExperiment };

template <class Request>
int32_t GetProjectId(const Request& request) {
  return request.project_id();
}
int32_t GetProjectId(const v1::MoveRunsRequest& request) { return request.source_project_id(); }

// How the error begins that refuses to act on a run of a search.
template <class Request>
const char* GetRefusal(const Request&) {
  return "Cannot change";
}
const char* GetRefusal(const v1::PauseRunsRequest&) { return "Cannot pause/unpause"; }
const char* GetRefusal(const v1::ResumeRunsRequest&) { return "Cannot pause/unpause"; }
const char* GetRefusal(const v1::MoveRunsRequest& request) {
  return request.skip_multitrial() ? "Skipping" : "Cannot move";
}

class RunActionService final : public ApiService<v1::RunActionService> {
 public:
  RunActionService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                   Authorizer& authorizer, base::ThreadPool& pool)
      : ApiService(calls), engine_(engine), store_(store), authorizer_(authorizer), pool_(pool) {}

  Reactor* ArchiveRuns(Context* context, const v1::ArchiveRunsRequest* request,
                       v1::ArchiveRunsResponse* response) override {
    return ApplyToEach(context, __func__, Target::kExperiment, request, response,
                       [this](const auth::Principal&, const experiment::Trial& run, Done done) {
                         Archive(engine_, store_, run.experiment, true, std::move(done));
                       });
  }
  Reactor* UnarchiveRuns(Context* context, const v1::UnarchiveRunsRequest* request,
                         v1::UnarchiveRunsResponse* response) override {
    return ApplyToEach(context, __func__, Target::kExperiment, request, response,
                       [this](const auth::Principal&, const experiment::Trial& run, Done done) {
                         Archive(engine_, store_, run.experiment, false, std::move(done));
                       });
  }
  Reactor* DeleteRuns(Context* context, const v1::DeleteRunsRequest* request,
                      v1::DeleteRunsResponse* response) override {
    return ApplyToEach(context, __func__, Target::kExperiment, request, response,
                       [this](const auth::Principal&, const experiment::Trial& run, Done done) {
                         v1::DeleteExperimentRequest deletion;
                         deletion.set_experiment_id(run.experiment.value());
                         const auto unused = std::make_shared<v1::DeleteExperimentResponse>();
                         Delete(engine_, store_, pool_, deletion, unused.get(),
                                [unused, done = std::move(done)](absl::Status status) mutable {
                                  done(std::move(status));
                                });
                       });
  }
  Reactor* KillRuns(Context* context, const v1::KillRunsRequest* request,
                    v1::KillRunsResponse* response) override {
    return ApplyToEach(
        context, __func__, Target::kRun, request, response,
        [this](const auth::Principal& caller, const experiment::Trial& run, Done done) {
          Kill(engine_, store_, pool_, run.id, caller, std::move(done));
        });
  }
  Reactor* PauseRuns(Context* context, const v1::PauseRunsRequest* request,
                     v1::PauseRunsResponse* response) override {
    return ApplyToEach(context, __func__, Target::kExperiment, request, response,
                       [this](const auth::Principal&, const experiment::Trial& run, Done done) {
                         Pause(engine_, store_, pool_, run.experiment, std::move(done));
                       });
  }
  Reactor* ResumeRuns(Context* context, const v1::ResumeRunsRequest* request,
                      v1::ResumeRunsResponse* response) override {
    return ApplyToEach(context, __func__, Target::kExperiment, request, response,
                       [this](const auth::Principal&, const experiment::Trial& run, Done done) {
                         Activate(engine_, store_, pool_, run.experiment, std::move(done));
                       });
  }
  Reactor* MoveRuns(Context* context, const v1::MoveRunsRequest* request,
                    v1::MoveRunsResponse* response) override {
    return ApplyToEach(
        context, __func__, Target::kExperiment, request, response,
        [this, request](const auth::Principal&, const experiment::Trial& run, Done done) {
          v1::MoveExperimentRequest move;
          move.set_experiment_id(run.experiment.value());
          move.set_destination_project_id(request->destination_project_id());
          Move(engine_, store_, move, std::move(done));
        });
  }

 private:
  template <class Request, class Response, class Action>
  Reactor* ApplyToEach(Context* context, const char* method, Target target, const Request* request,
                       Response* response, Action action) {
    return Unary(
        method, context, request, response,
        ForEach(
            pool_, "run", response,
            [this, request](const auth::Principal& caller) { return SelectIds(*request, caller); },
            [this, method, target, verb = GetRefusal(*request), project = GetProjectId(*request),
             action = std::move(action)](const auth::Principal& caller, int32_t id,
                                         Done done) mutable {
              const auto run = CheckRun(method, target, caller, project, model::TrialId(id), verb);
              if (!run.ok()) return done(run.status());
              action(caller, *run, std::move(done));
            }));
  }

  // Returns the runs that the request lists, or that match its filter.
  template <class Request>
  absl::StatusOr<std::vector<int32_t>> SelectIds(const Request& request,
                                                 const auth::Principal& caller) {
    if constexpr (std::is_same_v<Request, v1::MoveRunsRequest>) {
      if (request.destination_project_id() == 0) {
        return absl::NotFoundError("project 0 not found; destination_project_id is required");
      }
      DET_RETURN_IF_ERROR(
          store_.projects().GetProjectWorkspaceId(request.destination_project_id()).status());
    }
    if (!request.filter().empty()) {
      return FindMatching(request.filter(), GetProjectId(request), caller);
    }
    return GetUniqueIds(request.run_ids(), "run");
  }

  absl::StatusOr<std::vector<int32_t>> FindMatching(const std::string& filter, int32_t project,
                                                    const auth::Principal& caller) {
    if (project == 0) {
      return absl::InvalidArgumentError("project_id is required with filter");
    }
    store::RunQuery query{.project = project,
                          .visible = caller.Visible(model::Permission::kViewExperimentMetadata)};
    DET_ASSIGN_OR_RETURN(query.search, store::ParseSearch(Table::kRuns, filter, ""));
    query.window.limit = kMaxBatchSize;
    DET_ASSIGN_OR_RETURN(const store::RunPage page, store_.runs().SearchRuns(query));
    if (page.total > kMaxBatchSize) return TooManyError(page.total, "run");
    std::vector<int32_t> runs;
    for (const store::RunRecord& run : page.runs) runs.push_back(run.trial.id.value());
    return runs;
  }

  // Scripts of existing clients look for the texts of these errors.
  static absl::Status MakeNotFoundError(const std::string& run, int32_t project) {
    return absl::NotFoundError(
        absl::StrCat("Run with id '", run, "' not found",
                     project == 0 ? "" : absl::StrCat(" in project with id '", project, "'")));
  }

  // Returns the run if the caller may call `method` for it, and if the run, or its experiment with
  // this single run, is the target. `project` 0 means any project.
  absl::StatusOr<experiment::Trial> CheckRun(const char* method, Target target,
                                             const auth::Principal& caller, int32_t project,
                                             model::TrialId id, const char* verb) {
    const std::string text = absl::StrCat(id.value());
    const absl::Status allowed = authorizer_.AuthorizeResource(
        FullName(method), caller, auth::GetElementNeed(FullName(method)), auth::Scope::kTrial,
        text);
    if (absl::IsNotFound(allowed)) return MakeNotFoundError(text, project);
    DET_RETURN_IF_ERROR(allowed);
    absl::StatusOr<store::TrialRecord> run = store_.GetBareTrial(id);
    if (absl::IsNotFound(run.status())) return MakeNotFoundError(text, project);
    DET_RETURN_IF_ERROR(run.status());
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                         store_.GetExperiment(run->trial.experiment));
    if (project != 0 && record.experiment.project != project) {
      return MakeNotFoundError(text, project);
    }
    const bool is_single =
        record.experiment.config->searcher.name == "single" && record.num_trials == 1;
    if (target == Target::kExperiment && !is_single) {
      return absl::FailedPreconditionError(
          absl::StrCat(verb, " run '", text, "' (part of multi-trial)."));
    }
    return std::move(run->trial);
  }

  engine::Engine& engine_;
  store::Store& store_;
  Authorizer& authorizer_;
  base::ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Service> MakeRunActionService(CallPipeline& calls, engine::Engine& engine,
                                              store::Store& store, Authorizer& authorizer,
                                              base::ThreadPool& pool) {
  return std::make_unique<RunActionService>(calls, engine, store, authorizer, pool);
}

}  // namespace det::api
