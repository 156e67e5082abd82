#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/project.unary.h"
#include "master/api/common/convert.h"
#include "master/api/experiments/experiment_deletion.h"
#include "master/api/rpc/api_service.h"
#include "master/api/workspaces/convert_workspace.h"
#include "master/api/workspaces/services.h"

namespace det::api {
namespace {

class ProjectService final : public ApiService<v1::ProjectService> {
 public:
  ProjectService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                 const base::Clock& clock)
      : ApiService(calls), engine_(engine), store_(store), clock_(clock) {}

  grpc::ServerUnaryReactor* GetProject(grpc::CallbackServerContext* context,
                                       const v1::GetProjectRequest* request,
                                       v1::GetProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto record, projects().GetProject(request->id()));
                   RecordVisit(principal.user, record.id);
                   *response->mutable_project() = ToProto(record);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetProjectByKey(grpc::CallbackServerContext* context,
                                            const v1::GetProjectByKeyRequest* request,
                                            v1::GetProjectByKeyResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(
                       const auto record,
                       projects().GetProjectByKey(absl::AsciiStrToUpper(request->key())));
                   *response->mutable_project() = ToProto(record);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PostProject(grpc::CallbackServerContext* context,
                                        const v1::PostProjectRequest* request,
                                        v1::PostProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Post(*request, principal.user, response->mutable_project());
                 });
  }

  grpc::ServerUnaryReactor* PatchProject(grpc::CallbackServerContext* context,
                                         const v1::PatchProjectRequest* request,
                                         v1::PatchProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Patch(*request, response->mutable_project(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* DeleteProject(grpc::CallbackServerContext* context,
                                          const v1::DeleteProjectRequest* request,
                                          v1::DeleteProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Delete(request->id(), response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* ArchiveProject(grpc::CallbackServerContext* context,
                                           const v1::ArchiveProjectRequest* request,
                                           v1::ArchiveProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) { return Archive(request->id(), true); });
  }
  grpc::ServerUnaryReactor* UnarchiveProject(grpc::CallbackServerContext* context,
                                             const v1::UnarchiveProjectRequest* request,
                                             v1::UnarchiveProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) { return Archive(request->id(), false); });
  }

  grpc::ServerUnaryReactor* MoveProject(grpc::CallbackServerContext* context,
                                        const v1::MoveProjectRequest* request,
                                        v1::MoveProjectResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) { return Move(*request); });
  }

  grpc::ServerUnaryReactor* AddProjectNote(grpc::CallbackServerContext* context,
                                           const v1::AddProjectNoteRequest* request,
                                           v1::AddProjectNoteResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(
                       const auto notes,
                       projects().AddNote(request->project_id(), FromProto(request->note())));
                   for (const store::ProjectNote& note : notes)
                     *response->add_notes() = ToProto(note);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PutProjectNotes(grpc::CallbackServerContext* context,
                                            const v1::PutProjectNotesRequest* request,
                                            v1::PutProjectNotesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   store::ProjectPatch patch;
                   patch.notes.emplace();
                   for (const v1::Note& note : request->notes())
                     patch.notes->push_back(FromProto(note));
                   DET_ASSIGN_OR_RETURN(const auto record,
                                        projects().ChangeProject(request->project_id(), patch));
                   *response->mutable_notes() = ToProto(record).notes();
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetProjectsByUserActivity(
      grpc::CallbackServerContext* context, const v1::GetProjectsByUserActivityRequest* request,
      v1::GetProjectsByUserActivityResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto visited, projects().ListLastVisited(
                                                                principal.user, request->limit()));
                   for (const auto& record : visited) {
                     if (!principal.Holds(model::Permission::kViewProject, record.workspace))
                       continue;
                     *response->add_projects() = ToProto(record);
                   }
                   return absl::OkStatus();
                 });
  }

 private:
  // Deletes an empty project; otherwise garbage collection deletes it with its experiments.
  void Delete(int32_t id, v1::DeleteProjectResponse* response, Done done) {
    absl::Status status = projects().DeleteProject(id);
    response->set_completed(status.ok());
    if (!absl::IsFailedPrecondition(status)) return done(std::move(status));
    status = CheckNotHeld(store_, {.project = id});
    if (status.ok()) status = projects().StartDeletion(id);
    if (!status.ok()) return done(std::move(status));
    // Wakes garbage collection.
    SubmitAndFinish(engine_, cluster::DeleteCheckpoints{}, std::move(done));
  }

  store::Projects& projects() { return store_.projects(); }

  // Records a visit at most once a minute for each user and project: each is a write in a read
  // request.
  void RecordVisit(model::UserId user, int32_t project) {
    const absl::Time now = clock_.Now();
    {
      std::lock_guard lock(visiting_);
      Visit& last = visits_[user];
      if (last.project == project && now < last.at + absl::Minutes(1)) return;
      last = {project, now};
    }
    // The read succeeds even if the visit cannot be recorded.
    (void)projects().RecordVisit(user, project, now);
  }

  absl::Status Post(const v1::PostProjectRequest& request, model::UserId owner, v1::Project* out) {
    // Reported before errors of the body, which names the project only.
    DET_RETURN_IF_ERROR(store_.workspaces().GetWorkspaceName(request.workspace_id()).status());
    store::ProjectRecord record;
    record.workspace = request.workspace_id();
    record.description = request.description();
    record.owner = owner;
    DET_ASSIGN_OR_RETURN(record.name, ParseSpaceName(request.name()));
    if (!request.key().empty()) {
      DET_ASSIGN_OR_RETURN(record.key, ParseProjectKey(request.key()));
    }
    DET_ASSIGN_OR_RETURN(const store::ProjectRecord made, projects().AddProject(record));
    *out = ToProto(made);
    return absl::OkStatus();
  }

  absl::StatusOr<store::ProjectRecord> Change(const v1::PatchProjectRequest& request) {
    const v1::PatchProject& given = request.project();
    store::ProjectPatch patch;
    if (given.has_name()) {
      DET_ASSIGN_OR_RETURN(patch.name, ParseSpaceName(given.name()));
    }
    if (given.has_key()) {
      DET_ASSIGN_OR_RETURN(patch.key, ParseProjectKey(given.key()));
    }
    if (given.has_description()) patch.description = given.description();
    return projects().ChangeProject(request.id(), patch);
  }

  void Patch(const v1::PatchProjectRequest& request, v1::Project* out, Done done) {
    // The lock keeps renames in the same order in the store and in the cluster.
    const std::lock_guard lock(renaming_);
    const absl::StatusOr<store::ProjectRecord> changed = Change(request);
    if (!changed.ok()) return done(changed.status());
    *out = ToProto(*changed);
    if (!request.project().has_name()) return done(absl::OkStatus());
    SubmitAndFinish(
        engine_, cluster::RenameWorkspaceOrProject{.project = request.id(), .name = changed->name},
        std::move(done));
  }

  absl::Status Archive(int32_t id, bool archived) {
    return projects().ChangeProject(id, {.archived = archived}).status();
  }

  absl::Status Move(const v1::MoveProjectRequest& request) {
    DET_ASSIGN_OR_RETURN(const auto record, projects().GetProject(request.project_id()));
    if (record.num_active_experiments > 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "project \"", record.name, "\" has ", record.num_active_experiments,
          record.num_active_experiments == 1 ? " experiment that has" : " experiments that have",
          " not ended and count toward its workspace; wait, or move them first"));
    }
    return projects()
        .ChangeProject(request.project_id(), {.workspace = request.destination_workspace_id()})
        .status();
  }

  struct Visit {
    int32_t project = 0;
    absl::Time at;
  };

  engine::Engine& engine_;
  store::Store& store_;
  const base::Clock& clock_;
  std::mutex renaming_;
  std::mutex visiting_;
  std::map<model::UserId, Visit> visits_;  // the last of each user
};

}  // namespace

std::unique_ptr<Service> MakeProjectService(CallPipeline& calls, engine::Engine& engine,
                                            store::Store& store, const base::Clock& clock) {
  return std::make_unique<ProjectService>(calls, engine, store, clock);
}

}  // namespace det::api
