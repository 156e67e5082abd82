#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/checkpoint.unary.h"
#include "master/api/checkpoints/checkpoint_files.h"
#include "master/api/checkpoints/checkpoint_removal.h"
#include "master/api/checkpoints/services.h"
#include "master/api/common/checkpoint_storages.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/checkpoint_storage/checkpoint_location.h"

namespace det::api {
namespace {

constexpr size_t kMessageSize = size_t{1} << 20;

store::CheckpointQuery::Sort CheckpointSortFromProto(v1::Checkpoint::SortBy sort) {
  using Sort = store::CheckpointQuery::Sort;
  switch (sort) {
    case v1::Checkpoint::SORT_BY_UUID:
      return Sort::kId;
    case v1::Checkpoint::SORT_BY_TRIAL_ID:
      return Sort::kTrial;
    case v1::Checkpoint::SORT_BY_BATCH_NUMBER:
      return Sort::kSteps;
    case v1::Checkpoint::SORT_BY_STATE:
      return Sort::kState;
    case v1::Checkpoint::SORT_BY_SEARCHER_METRIC:
      return Sort::kSearcherMetric;
    default:
      return Sort::kTime;
  }
}

// Converts the fields that both list requests share: window, order and states.
template <class Request>
absl::StatusOr<store::CheckpointQuery> ToCheckpointQuery(const Request& request) {
  store::CheckpointQuery query;
  query.sort = CheckpointSortFromProto(request.sort_by_attr());
  if (!request.sort_by_metric().empty()) {
    if (request.sort_by_attr() != v1::Checkpoint::SORT_BY_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          "sort_by_attr and sort_by_metric are mutually exclusive; set only one of them");
    }
    query.sort = store::CheckpointQuery::Sort::kMetric;
    query.metric = request.sort_by_metric();
  }
  query.window = ToWindow(request.offset(), request.limit());
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  for (const int state : request.states()) {
    const auto known = FromProto(static_cast<v1::Checkpoint::State>(state));
    query.states.insert(query.states.end(), known.begin(), known.end());
  }
  return query;
}

class CheckpointService final : public ApiService<v1::CheckpointService> {
 public:
  CheckpointService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                    const checkpoint_storage::CheckpointLocations& checkpoint_locations)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        checkpoint_locations_(checkpoint_locations) {}

  grpc::ServerUnaryReactor* GetCheckpoint(grpc::CallbackServerContext* context,
                                          const v1::GetCheckpointRequest* request,
                                          v1::GetCheckpointResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request, response](const auth::Principal&) {
          return Read(ReadCheckpointId(request->checkpoint_uuid()), response->mutable_checkpoint());
        });
  }

  grpc::ServerUnaryReactor* GetExperimentCheckpoints(
      grpc::CallbackServerContext* context, const v1::GetExperimentCheckpointsRequest* request,
      v1::GetExperimentCheckpointsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(store::CheckpointQuery query, ToCheckpointQuery(*request));
                   query.experiment = model::ExperimentId(request->id());
                   return List(query, *query.experiment, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* GetTrialCheckpoints(
      grpc::CallbackServerContext* context, const v1::GetTrialCheckpointsRequest* request,
      v1::GetTrialCheckpointsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(store::CheckpointQuery query, ToCheckpointQuery(*request));
                   query.trial = model::TrialId(request->id());
                   DET_ASSIGN_OR_RETURN(const auto trial, store_.GetBareTrial(*query.trial));
                   return List(query, trial.trial.experiment, *request, response);
                 });
  }

  grpc::ServerUnaryReactor* DeleteCheckpoints(grpc::CallbackServerContext* context,
                                              const v1::DeleteCheckpointsRequest* request,
                                              v1::DeleteCheckpointsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&, Done done) {
                   auto removal = PlanRemoval(store_, GetUuids(*request), {"**"});
                   if (!removal.ok()) return done(removal.status());
                   Remove(*std::move(removal), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* CheckpointsRemoveFiles(
      grpc::CallbackServerContext* context, const v1::CheckpointsRemoveFilesRequest* request,
      v1::CheckpointsRemoveFilesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   const model::Globs globs(request->checkpoint_globs().begin(),
                                            request->checkpoint_globs().end());
                   auto removal = globs.empty()
                                      ? PlanRefresh(store_, GetUuids(*request), list_files_)
                                      : PlanRemoval(store_, GetUuids(*request), globs);
                   if (!removal.ok()) return done(removal.status());
                   for (const model::CheckpointId& id : removal->unmatched) {
                     response->add_unmatched(id.value());
                   }
                   Remove(*std::move(removal), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PostCheckpointMetadata(
      grpc::CallbackServerContext* context, const v1::PostCheckpointMetadataRequest* request,
      v1::PostCheckpointMetadataResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   const model::CheckpointId id = ReadCheckpointId(request->checkpoint().uuid());
                   const model::Value metadata =
                       FromStruct(request->checkpoint().metadata(), Numbers::kIntegersIfWhole);
                   DET_RETURN_IF_ERROR(store_.runs().PutCheckpointMetadata(id, metadata));
                   return Read(id, response->mutable_checkpoint());
                 });
  }

  grpc::ServerWriteReactor<v1::ReadCheckpointFileResponse>* ReadCheckpointFile(
      grpc::CallbackServerContext* context, const v1::ReadCheckpointFileRequest* request) override {
    return ServerStream<v1::ReadCheckpointFileResponse>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<v1::ReadCheckpointFileResponse>> stream) {
          absl::StatusOr<ChunkReader> opened = Open(request);
          if (!opened.ok()) return stream->Close(opened.status());
          stream->Start([reader = *std::move(opened)](auto& out) { SendChunk(reader, out); },
                        nullptr);
        });
  }

 private:
  absl::Status Read(const model::CheckpointId& id, v1::Checkpoint* out) {
    DET_ASSIGN_OR_RETURN(const auto entry, store_.GetCheckpoint(id));
    DET_ASSIGN_OR_RETURN(const auto experiment, store_.GetExperiment(entry.experiment));
    const model::ExperimentConfig& config = *experiment.experiment.config;
    CheckpointStorages storages(store_);
    DET_ASSIGN_OR_RETURN(const auto storage,
                         storages.Find(entry.checkpoint, config.checkpoint_storage));
    *out = ToProto(entry, checkpoint_storage::GetCheckpointFolder(storage, id),
                   ToStruct(ToShownConfig(experiment)));
    return absl::OkStatus();
  }

  // All checkpoints of a list belong to one experiment.
  template <class Request, class Response>
  absl::Status List(const store::CheckpointQuery& query, model::ExperimentId id,
                    const Request& request, Response* response) {
    DET_ASSIGN_OR_RETURN(const auto experiment, store_.GetExperiment(id));
    DET_ASSIGN_OR_RETURN(const auto page, store_.ListCheckpoints(query));
    const model::ExperimentConfig& config = *experiment.experiment.config;
    const google::protobuf::Struct shown = ToStruct(ToShownConfig(experiment));
    CheckpointStorages storages(store_);
    for (const store::CheckpointEntry& entry : page.checkpoints) {
      DET_ASSIGN_OR_RETURN(const auto storage,
                           storages.Find(entry.checkpoint, config.checkpoint_storage));
      *response->add_checkpoints() = ToProto(
          entry, checkpoint_storage::GetCheckpointFolder(storage, entry.checkpoint.id), shown);
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->checkpoints_size(), page.total);
    return absl::OkStatus();
  }

  template <class Request>
  static std::vector<std::string> GetUuids(const Request& request) {
    return {request.checkpoint_uuids().begin(), request.checkpoint_uuids().end()};
  }

  void Remove(CheckpointRemoval removal, Done done) {
    if (removal.empty()) return done(absl::OkStatus());
    SubmitAndFinish(engine_, std::move(removal.event), std::move(done));
  }

  // Opens a file; it must be listed in the checkpoint.
  absl::StatusOr<ChunkReader> Open(const v1::ReadCheckpointFileRequest& request) {
    const model::CheckpointId id = ReadCheckpointId(request.checkpoint_uuid());
    DET_ASSIGN_OR_RETURN(const auto entry, store_.GetCheckpoint(id));
    DET_ASSIGN_OR_RETURN(const auto experiment, store_.GetExperiment(entry.experiment));
    DET_RETURN_IF_ERROR(CheckFilesNotDeleted(entry.checkpoint));
    const std::string& path = request.path();
    if (!entry.checkpoint.resources.contains(path) || path.empty() || path.back() == '/') {
      return absl::NotFoundError(absl::StrCat("checkpoint ", id.value(), " has no file ", path));
    }
    CheckpointStorages storages(store_);
    DET_ASSIGN_OR_RETURN(
        const auto storage,
        storages.Find(entry.checkpoint, experiment.experiment.config->checkpoint_storage));
    DET_RETURN_IF_ERROR(CheckReachable(experiment.experiment, storage));
    return OpenCheckpointFile(checkpoint_locations_.buckets, storage, id, path);
  }

  static void SendChunk(const ChunkReader& reader, Stream<v1::ReadCheckpointFileResponse>& out) {
    absl::StatusOr<std::string> chunk = reader();
    if (!chunk.ok()) return out.Close(chunk.status());
    if (chunk->empty()) return out.Close(absl::OkStatus());
    for (size_t at = 0; at < chunk->size(); at += kMessageSize) {
      v1::ReadCheckpointFileResponse response;
      response.set_chunk(chunk->substr(at, kMessageSize));
      out.Send(std::move(response));
    }
    out.Wake();
  }

  engine::Engine& engine_;
  store::Store& store_;
  const checkpoint_storage::CheckpointLocations& checkpoint_locations_;
  const ListFiles list_files_ = [this](const model::CheckpointStorageConfig& storage,
                                       const model::CheckpointId& id) {
    return ListCheckpointFiles(checkpoint_locations_.buckets, storage, id);
  };
};

}  // namespace

std::unique_ptr<Service> MakeCheckpointService(
    CallPipeline& calls, engine::Engine& engine, store::Store& store,
    const checkpoint_storage::CheckpointLocations& checkpoint_locations) {
  return std::make_unique<CheckpointService>(calls, engine, store, checkpoint_locations);
}

}  // namespace det::api
