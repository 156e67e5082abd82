#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/fd.h"
#include "base/status_macros.h"
#include "det/api/v1/checkpoint.pb.h"
#include "master/buckets/checkpoint_bucket.h"
#include "master/service/call.h"
#include "master/service/checkpoint_place.h"
#include "master/service/convert.h"
#include "master/service/open_stream.h"
#include "master/service/service.h"
#include "master/service/services.h"

namespace det::service {
namespace {

namespace api = det::api::v1;

constexpr size_t kChunk = size_t{1} << 20;
constexpr int64_t kPiece = int64_t{8} << 20;  // of a bucket at once

// Never waits: a task may have left a pipe where a file should be.
absl::StatusOr<base::Fd> OpenRegular(const std::string& real) {
  base::Fd fd(::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return absl::FailedPreconditionError(
        absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", real)).message());
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(real, " is not a regular file"));
  }
  return fd;
}

// The content of a file, piece by piece; an empty one at its end. Blocks.
using Pieces = std::function<absl::StatusOr<std::string>()>;

Pieces PiecesOf(base::Fd fd) {
  return [fd = std::make_shared<base::Fd>(std::move(fd))]() -> absl::StatusOr<std::string> {
    std::string piece(kChunk, '\0');
    const ssize_t got = ::read(fd->get(), piece.data(), piece.size());
    if (got < 0) return absl::ErrnoToStatus(errno, "cannot read the checkpoint's file");
    piece.resize(static_cast<size_t>(got));
    return piece;
  };
}

Pieces PiecesOf(std::unique_ptr<objects::Bucket> bucket, std::string key) {
  struct Reading {
    std::unique_ptr<objects::Bucket> bucket;
    std::string key;
    int64_t at = 0;
  };
  const auto reading = std::make_shared<Reading>(std::move(bucket), std::move(key));
  return [reading]() -> absl::StatusOr<std::string> {
    DET_ASSIGN_OR_RETURN(std::string piece,
                         reading->bucket->Read(reading->key, reading->at, kPiece));
    reading->at += static_cast<int64_t>(piece.size());
    return piece;
  };
}

// Inside the checkpoint's folder.
absl::StatusOr<base::Fd> OpenFile(const std::string& id, const std::string& folder,
                                  const std::string& path) {
  std::error_code error;
  // A task writes here too: the checkpoint's own folder may be a link that leads anywhere.
  const std::filesystem::path place(folder);
  const std::string base =
      (std::filesystem::canonical(place.parent_path(), error) / place.filename()).string();
  const std::string real =
      error ? "" : std::filesystem::canonical(std::filesystem::path(folder) / path, error).string();
  if (error) {
    return absl::FailedPreconditionError(absl::StrCat("the master cannot reach ", folder, "/", path,
                                                      ": ", error.message(),
                                                      "; copy it where the checkpoint lies"));
  }
  if (!absl::StartsWith(real, base + "/")) {
    return absl::NotFoundError(absl::StrCat("checkpoint ", id, ": ", path, " leads out of it"));
  }
  return OpenRegular(real);
}

store::CheckpointQuery::Sort FromProto(api::Checkpoint::SortBy sort) {
  using Sort = store::CheckpointQuery::Sort;
  switch (sort) {
    case api::Checkpoint::SORT_BY_UUID:
      return Sort::kId;
    case api::Checkpoint::SORT_BY_TRIAL_ID:
      return Sort::kTrial;
    case api::Checkpoint::SORT_BY_BATCH_NUMBER:
      return Sort::kSteps;
    case api::Checkpoint::SORT_BY_STATE:
      return Sort::kState;
    case api::Checkpoint::SORT_BY_SEARCHER_METRIC:
      return Sort::kSearcherMetric;
    default:
      return Sort::kTime;
  }
}

// The window, order and range that both lists share.
template <class Request>
absl::StatusOr<store::CheckpointQuery> ToQuery(const Request& request) {
  store::CheckpointQuery query;
  query.sort = FromProto(request.sort_by_attr());
  if (!request.sort_by_metric().empty()) {
    if (request.sort_by_attr() != api::Checkpoint::SORT_BY_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          "sort_by_attr and sort_by_metric: checkpoints are sorted by one of them; leave out the "
          "other");
    }
    query.sort = store::CheckpointQuery::Sort::kMetric;
    query.metric = request.sort_by_metric();
  }
  query.window = ToWindow(request.offset(), request.limit());
  query.descending = request.order_by() == api::ORDER_BY_DESC;
  for (const int state : request.states()) {
    const auto known = service::FromProto(static_cast<api::Checkpoint::State>(state));
    query.states.insert(query.states.end(), known.begin(), known.end());
  }
  return query;
}

class CheckpointService final : public Service {
 public:
  explicit CheckpointService(const Edge& edge)
      : Service("det.api.v1.CheckpointService"), edge_(edge) {
    Serve("GetCheckpoint", &CheckpointService::GetCheckpoint);
    Serve("GetExperimentCheckpoints", &CheckpointService::GetExperimentCheckpoints);
    Serve("GetTrialCheckpoints", &CheckpointService::GetTrialCheckpoints);
    Serve("DeleteCheckpoints", &CheckpointService::DeleteCheckpoints);
    Serve("CheckpointsRemoveFiles", &CheckpointService::CheckpointsRemoveFiles);
    Serve("PostCheckpointMetadata", &CheckpointService::PostCheckpointMetadata);
    Serve("ReadCheckpointFile", &CheckpointService::ReadCheckpointFile);
  }

  grpc::ServerUnaryReactor* GetCheckpoint(grpc::CallbackServerContext* context,
                                          const api::GetCheckpointRequest* request,
                                          api::GetCheckpointResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.CheckpointService.GetCheckpoint",
                    [this, request, response](const auth::Principal&) {
                      return Read(model::CheckpointId(request->checkpoint_uuid()),
                                  response->mutable_checkpoint());
                    });
  }

  grpc::ServerUnaryReactor* GetExperimentCheckpoints(
      grpc::CallbackServerContext* context, const api::GetExperimentCheckpointsRequest* request,
      api::GetExperimentCheckpointsResponse* response) {
    return UnaryNow(edge_, context, request,
                    "det.api.v1.CheckpointService.GetExperimentCheckpoints",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(store::CheckpointQuery query, ToQuery(*request));
                      query.experiment = model::ExperimentId(request->id());
                      return List(query, *query.experiment, *request, response);
                    });
  }

  grpc::ServerUnaryReactor* GetTrialCheckpoints(grpc::CallbackServerContext* context,
                                                const api::GetTrialCheckpointsRequest* request,
                                                api::GetTrialCheckpointsResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.CheckpointService.GetTrialCheckpoints",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(store::CheckpointQuery query, ToQuery(*request));
                      query.trial = model::TrialId(request->id());
                      DET_ASSIGN_OR_RETURN(const auto trial,
                                           edge_.store->GetBareTrial(*query.trial));
                      return List(query, trial.trial.experiment, *request, response);
                    });
  }

  grpc::ServerUnaryReactor* DeleteCheckpoints(grpc::CallbackServerContext* context,
                                              const api::DeleteCheckpointsRequest* request,
                                              api::DeleteCheckpointsResponse* response) {
    return Unary(edge_, context, request, "det.api.v1.CheckpointService.DeleteCheckpoints",
                 [this, request, response](const auth::Principal&, Done done) {
                   Delete(*request, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* CheckpointsRemoveFiles(
      grpc::CallbackServerContext* context, const api::CheckpointsRemoveFilesRequest* request,
      api::CheckpointsRemoveFilesResponse* response) {
    return Unary(
        edge_, context, request, "det.api.v1.CheckpointService.CheckpointsRemoveFiles",
        [this, request, response](const auth::Principal&, Done done) {
          const auto& globs = request->checkpoint_globs();
          if (!globs.empty() && std::find(globs.begin(), globs.end(), "**") == globs.end()) {
            return done(absl::InvalidArgumentError(
                "checkpoint_globs: a checkpoint keeps all of its files or none; give no "
                "globs, or \"**\", to delete it whole"));
          }
          Delete(*request, response, std::move(done));
        });
  }

  grpc::ServerUnaryReactor* PostCheckpointMetadata(
      grpc::CallbackServerContext* context, const api::PostCheckpointMetadataRequest* request,
      api::PostCheckpointMetadataResponse* response) {
    return UnaryOnceNow(
        edge_, context, request, response, "det.api.v1.CheckpointService.PostCheckpointMetadata",
        [this, request, response](const auth::Principal&) -> absl::Status {
          const model::CheckpointId id(request->checkpoint().uuid());
          const model::Value metadata =
              FromStruct(request->checkpoint().metadata(), Numbers::kIntegersIfWhole);
          DET_RETURN_IF_ERROR(edge_.store->runs().PutCheckpointMetadata(id, metadata));
          return Read(id, response->mutable_checkpoint());
        });
  }

  MessageStream* ReadCheckpointFile(grpc::CallbackServerContext* context,
                                    const api::ReadCheckpointFileRequest* request) {
    return OpenStream<api::ReadCheckpointFileResponse>(
        edge_, context, request, "det.api.v1.CheckpointService.ReadCheckpointFile",
        [this, request = *request](
            const auth::Principal&,
            std::shared_ptr<Stream<api::ReadCheckpointFileResponse>> stream) {
          absl::StatusOr<Pieces> opened = Open(request);
          if (!opened.ok()) return stream->Close(opened.status());
          stream->Start([pieces = *std::move(opened)](auto& out) { SendPiece(pieces, out); },
                        nullptr);
        });
  }

 private:
  absl::Status Read(const model::CheckpointId& id, api::Checkpoint* out) {
    DET_ASSIGN_OR_RETURN(const auto entry, edge_.store->GetCheckpoint(id));
    DET_ASSIGN_OR_RETURN(const auto experiment, edge_.store->GetExperiment(entry.experiment));
    const model::ExperimentConfig& config = *experiment.experiment.config;
    *out = ToProto(entry, CheckpointFolder(config.checkpoint_storage, entry.checkpoint.id));
    *out->mutable_training()->mutable_experiment_config() = ToStruct(model::ToShownValue(config));
    return absl::OkStatus();
  }

  // All checkpoints of a list belong to one experiment.
  template <class Request, class Response>
  absl::Status List(const store::CheckpointQuery& query, model::ExperimentId id,
                    const Request& request, Response* response) {
    DET_ASSIGN_OR_RETURN(const auto experiment, edge_.store->GetExperiment(id));
    DET_ASSIGN_OR_RETURN(const auto page, edge_.store->ListCheckpoints(query));
    for (const store::CheckpointEntry& entry : page.checkpoints) {
      *response->add_checkpoints() = ToProto(
          entry,
          CheckpointFolder(experiment.experiment.config->checkpoint_storage, entry.checkpoint.id));
    }
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->checkpoints_size(), page.total);
    return absl::OkStatus();
  }

  template <class Request, class Response>
  void Delete(const Request& request, Response* response, Done done) {
    cluster::DeleteCheckpoints event;
    std::set<model::ExperimentId> experiments;
    for (const std::string& uuid : request.checkpoint_uuids()) {
      const auto entry = edge_.store->GetCheckpoint(model::CheckpointId(uuid));
      if (!entry.ok()) return done(entry.status());
      event.ids.push_back(entry->checkpoint.id);
      experiments.insert(entry->experiment);
    }
    const std::set<model::CheckpointId> asked(event.ids.begin(), event.ids.end());
    for (const model::ExperimentId& id : experiments) {
      const auto held = edge_.store->disposal().ListHeld(id);
      if (!held.ok()) return done(held.status());
      for (const store::HeldCheckpoint& each : *held) {
        if (!asked.contains(each.id)) continue;
        *response->add_kept() = ToProto(each);
        std::erase(event.ids, each.id);
      }
    }
    if (event.ids.empty()) return done(absl::OkStatus());
    SubmitAndFinish(edge_, std::move(event), std::move(done));
  }

  // It must be a file that the checkpoint lists.
  absl::StatusOr<Pieces> Open(const api::ReadCheckpointFileRequest& request) {
    const model::CheckpointId id(request.checkpoint_uuid());
    DET_ASSIGN_OR_RETURN(const auto entry, edge_.store->GetCheckpoint(id));
    DET_ASSIGN_OR_RETURN(const auto experiment, edge_.store->GetExperiment(entry.experiment));
    if (entry.checkpoint.state == model::CheckpointState::kDeleting ||
        entry.checkpoint.state == model::CheckpointState::kDeleted) {
      return absl::FailedPreconditionError(absl::StrCat("checkpoint ", id.value(), " was deleted"));
    }
    const std::string& path = request.path();
    if (!entry.checkpoint.resources.contains(path) || path.empty() || path.back() == '/') {
      return absl::NotFoundError(absl::StrCat("checkpoint ", id.value(), " has no file ", path));
    }
    const model::CheckpointStorageConfig& storage =
        experiment.experiment.config->checkpoint_storage;
    if (buckets::IsBucket(storage)) {
      DET_ASSIGN_OR_RETURN(std::string key, buckets::KeyOf(storage, id, path));
      DET_ASSIGN_OR_RETURN(auto bucket, buckets::Open(edge_.checkpoint_places.buckets, storage));
      return PiecesOf(std::move(bucket), std::move(key));
    }
    DET_ASSIGN_OR_RETURN(base::Fd fd, OpenFile(id.value(), CheckpointFolder(storage, id), path));
    return PiecesOf(std::move(fd));
  }

  static void SendPiece(const Pieces& pieces, Stream<api::ReadCheckpointFileResponse>& out) {
    absl::StatusOr<std::string> piece = pieces();
    if (!piece.ok()) return out.Close(piece.status());
    if (piece->empty()) return out.Close(absl::OkStatus());
    for (size_t at = 0; at < piece->size(); at += kChunk) {
      api::ReadCheckpointFileResponse response;
      response.set_chunk(piece->substr(at, kChunk));
      out.Send(std::move(response));
    }
    out.Wake();
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeCheckpointService(const Edge& edge) {
  return std::make_unique<CheckpointService>(edge);
}

}  // namespace det::service
