#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "det/api/v1/model_def.pb.h"
#include "master/api/common/convert.h"
#include "master/api/experiments/context_files.h"
#include "master/api/experiments/services.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Nodes = google::protobuf::RepeatedPtrField<v1::FileNode>;
using Reactor = grpc::ServerUnaryReactor;

// What is in each folder, by its path; makes those that are not there yet.
class Tree {
 public:
  Tree(absl::Time time, Nodes* root) : time_(time), folders_({{"", root}}) {}

  void Add(const ContextFile& file) {
    if (file.kind == ContextFile::Kind::kFolder) {
      In(file.path);
      return;
    }
    v1::FileNode& node = Make(file.path);
    if (file.kind == ContextFile::Kind::kLink) return;
    node.set_content_length(static_cast<int32_t>(file.size));
    node.set_content_type(file.text ? "text/plain; charset=utf-8" : "application/octet-stream");
  }

 private:
  v1::FileNode& Make(const std::string& path) {
    const size_t slash = path.rfind('/');
    const bool top = slash == std::string::npos;
    v1::FileNode& node = *In(top ? "" : path.substr(0, slash))->Add();
    node.set_path(path);
    node.set_name(top ? path : path.substr(slash + 1));
    *node.mutable_modified_time() = ToProto(time_);
    return node;
  }
  Nodes* In(const std::string& folder) {
    const auto it = folders_.find(folder);
    if (it != folders_.end()) return it->second;
    v1::FileNode& node = Make(folder);
    node.set_is_dir(true);
    return folders_[folder] = node.mutable_files();
  }

  const absl::Time time_;
  std::map<std::string, Nodes*> folders_;
};

class ModelDefService final : public Service {
 public:
  explicit ModelDefService(const Edge& edge) : Service("det.api.v1.ModelDefService"), edge_(edge) {
    Serve("GetModelDefTree", &ModelDefService::GetModelDefTree);
    Serve("GetModelDefFile", &ModelDefService::GetModelDefFile);
  }

  Reactor* GetModelDefTree(Context* context, const v1::GetModelDefTreeRequest* request,
                           v1::GetModelDefTreeResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.ModelDefService.GetModelDefTree",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto experiment, Get(request->experiment_id()));
                      if (experiment.context_hash.empty()) return absl::OkStatus();
                      DET_ASSIGN_OR_RETURN(const std::string tgz,
                                           edge_.store->GetContext(experiment.context_hash));
                      DET_ASSIGN_OR_RETURN(const std::vector<ContextFile> files, ListContext(tgz));
                      Tree tree(experiment.created_at, response->mutable_files());
                      for (const ContextFile& file : files) tree.Add(file);
                      return absl::OkStatus();
                    });
  }

  Reactor* GetModelDefFile(Context* context, const v1::GetModelDefFileRequest* request,
                           v1::GetModelDefFileResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.ModelDefService.GetModelDefFile",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto experiment, Get(request->experiment_id()));
                      std::string tgz;
                      if (!experiment.context_hash.empty()) {
                        DET_ASSIGN_OR_RETURN(tgz, edge_.store->GetContext(experiment.context_hash));
                      }
                      DET_ASSIGN_OR_RETURN(*response->mutable_file(),
                                           ReadContextFile(tgz, request->path()));
                      return absl::OkStatus();
                    });
  }

 private:
  absl::StatusOr<experiment::Experiment> Get(int id) {
    DET_ASSIGN_OR_RETURN(store::ExperimentRecord record,
                         edge_.store->GetExperiment(model::ExperimentId(id)));
    return std::move(record.experiment);
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeModelDefService(const Edge& edge) {
  return std::make_unique<ModelDefService>(edge);
}

}  // namespace det::api
