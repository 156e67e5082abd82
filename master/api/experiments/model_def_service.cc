#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/model_def.unary.h"
#include "master/api/common/convert.h"
#include "master/api/experiments/context_files.h"
#include "master/api/experiments/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using Nodes = google::protobuf::RepeatedPtrField<v1::FileNode>;
using Reactor = grpc::ServerUnaryReactor;

// Builds the tree of a context directory. Creates missing parent directories.
class FileTree {
 public:
  FileTree(absl::Time time, Nodes* root) : time_(time), folders_({{"", root}}) {}

  void Add(const ContextFile& file) {
    if (file.kind == ContextFile::Kind::kFolder) {
      GetFolder(file.path);
      return;
    }
    v1::FileNode& node = AddNode(file.path);
    if (file.kind == ContextFile::Kind::kLink) return;
    node.set_content_length(static_cast<int32_t>(file.size));
    node.set_content_type(file.text ? "text/plain; charset=utf-8" : "application/octet-stream");
  }

 private:
  v1::FileNode& AddNode(const std::string& path) {
    const size_t slash = path.rfind('/');
    const bool top = slash == std::string::npos;
    v1::FileNode& node = *GetFolder(top ? "" : path.substr(0, slash))->Add();
    node.set_path(path);
    node.set_name(top ? path : path.substr(slash + 1));
    *node.mutable_modified_time() = ToProto(time_);
    return node;
  }
  Nodes* GetFolder(const std::string& folder) {
    const auto it = folders_.find(folder);
    if (it != folders_.end()) return it->second;
    v1::FileNode& node = AddNode(folder);
    node.set_is_dir(true);
    return folders_[folder] = node.mutable_files();
  }

  const absl::Time time_;
  std::map<std::string, Nodes*> folders_;  // the entries of each directory, by its path
};

class ModelDefService final : public ApiService<v1::ModelDefService> {
 public:
  ModelDefService(CallPipeline& calls, store::Store& store) : ApiService(calls), store_(store) {}

  Reactor* GetModelDefTree(Context* context, const v1::GetModelDefTreeRequest* request,
                           v1::GetModelDefTreeResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          DET_ASSIGN_OR_RETURN(const auto experiment, GetExperiment(request->experiment_id()));
          if (experiment.context_hash.empty()) return absl::OkStatus();
          DET_ASSIGN_OR_RETURN(const std::string tgz, store_.GetContext(experiment.context_hash));
          DET_ASSIGN_OR_RETURN(const std::vector<ContextFile> files, ListContext(tgz));
          FileTree tree(experiment.created_at, response->mutable_files());
          for (const ContextFile& file : files) tree.Add(file);
          return absl::OkStatus();
        });
  }

  Reactor* GetModelDefFile(Context* context, const v1::GetModelDefFileRequest* request,
                           v1::GetModelDefFileResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          DET_ASSIGN_OR_RETURN(const auto experiment, GetExperiment(request->experiment_id()));
          std::string tgz;
          if (!experiment.context_hash.empty()) {
            DET_ASSIGN_OR_RETURN(tgz, store_.GetContext(experiment.context_hash));
          }
          DET_ASSIGN_OR_RETURN(*response->mutable_file(), ReadContextFile(tgz, request->path()));
          return absl::OkStatus();
        });
  }

 private:
  absl::StatusOr<experiment::Experiment> GetExperiment(int id) {
    DET_ASSIGN_OR_RETURN(store::ExperimentRecord record,
                         store_.GetExperiment(model::ExperimentId(id)));
    return std::move(record.experiment);
  }

  store::Store& store_;
};

}  // namespace

std::unique_ptr<Service> MakeModelDefService(CallPipeline& calls, store::Store& store) {
  return std::make_unique<ModelDefService>(calls, store);
}

}  // namespace det::api
