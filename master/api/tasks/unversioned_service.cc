#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "det/api/v1/raw.unary.h"
#include "google/api/httpbody.pb.h"
#include "master/api/checkpoints/checkpoint_archive.h"
#include "master/api/checkpoints/checkpoint_files.h"
#include "master/api/common/checkpoint_storages.h"
#include "master/api/common/convert.h"
#include "master/api/experiments/context_files.h"
#include "master/api/experiments/experiment_patch.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/services.h"
#include "master/api/tasks/task_summaries.h"
#include <google/protobuf/util/time_util.h>

namespace det::api {
namespace {

using google::api::HttpBody;
using google::protobuf::Struct;
using google::protobuf::util::TimeUtil;
using Format = CheckpointArchive::Format;

constexpr size_t kChunkSize = size_t{1} << 20;
constexpr char kGzip[] = "application/gzip";
constexpr char kZip[] = "application/zip";

// These functions convert messages of the API to the JSON that existing clients read.

model::Value ToRawResources(const v1::ResourcesSummary& local_task) {
  model::Value::Object devices;
  for (const auto& [agent, list] : local_task.agent_devices()) {
    model::Value::List slots;
    for (const v1::Device& device : list.devices()) {
      const std::string& type = v1::Device::Type_Name(device.type());
      model::Value::Object slot;
      slot["id"] = device.id();
      slot["brand"] = device.brand();
      slot["uuid"] = device.uuid();
      slot["type"] = absl::AsciiStrToLower(absl::StripPrefix(type, "TYPE_"));
      slots.push_back(std::move(slot));
    }
    devices[agent] = std::move(slots);
  }
  model::Value started, exited;
  if (local_task.has_started()) started = model::Value::Object();
  if (local_task.has_exited()) {
    exited = model::Value::Object{{"exit_code", local_task.exited().exit_code()}};
  }
  return model::Value::Object{{"resources_id", local_task.resources_id()},
                              {"resources_type", local_task.resources_type()},
                              {"allocation_id", local_task.allocation_id()},
                              {"agent_devices", std::move(devices)},
                              {"container_id", local_task.container_id()},
                              {"Started", std::move(started)},
                              {"Exited", std::move(exited)}};
}

model::Value ToRawUser(const store::UserRecord& user) {
  const auto time = [](const std::optional<absl::Time>& at) {
    return at ? model::Value(TimeUtil::ToString(ToProto(*at))) : model::Value();
  };
  const auto& agent = user.agent_user;
  return model::Value::Object{
      {"id", user.id.value()},
      {"username", user.username},
      {"display_name", user.display_name.empty() ? model::Value() : user.display_name},
      {"name", user.display_name.empty() ? user.username : user.display_name},
      {"admin", user.admin},
      {"active", user.active},
      {"modified_at", time(user.modified_at)},
      {"remote", user.remote},
      {"last_auth_at", time(user.last_auth_at)},
      {"agent_uid", agent ? model::Value(agent->uid) : model::Value()},
      {"agent_gid", agent ? model::Value(agent->gid) : model::Value()},
      {"agent_user", agent ? model::Value(agent->user) : model::Value()},
      {"agent_group", agent ? model::Value(agent->group) : model::Value()}};
}

model::Value ToRawSummary(const v1::AllocationSummary& summary) {
  model::Value::List resources;
  for (const v1::ResourcesSummary& local_task : summary.resources()) {
    resources.push_back(ToRawResources(local_task));
  }
  model::Value::List ports;
  for (const v1::ProxyPort& port : summary.proxy_ports()) {
    ports.emplace_back(model::Value::Object{{"service_id", port.service_id()},
                                            {"port", port.port()},
                                            {"proxy_tcp", port.proxy_tcp()},
                                            {"unauthenticated", port.unauthenticated()}});
  }
  return model::Value::Object{{"task_id", summary.task_id()},
                              {"allocation_id", summary.allocation_id()},
                              {"name", summary.name()},
                              {"registered_time", TimeUtil::ToString(summary.registered_time())},
                              {"resource_pool", summary.resource_pool()},
                              {"slots_needed", summary.slots_needed()},
                              {"resources", std::move(resources)},
                              {"priority", summary.priority()},
                              {"scheduler_type", summary.scheduler_type()},
                              {"proxy_ports", std::move(ports)}};
}

Struct ToRawTasks(const v1::GetTasksResponse& tasks) {
  model::Value::Object all;
  for (const auto& [id, summary] : tasks.allocation_id_to_summary()) {
    all[id] = ToRawSummary(summary);
  }
  return ToStruct(std::move(all));
}

// Returns {"avg_metrics", "batch_metrics"}, or null without metrics.
model::Value ToRawMetrics(const v1::Metrics& metrics) {
  if (!metrics.has_avg_metrics()) return {};
  model::Value batches;
  if (metrics.batch_metrics_size() > 0) {
    model::Value::List list;
    for (const auto& batch : metrics.batch_metrics()) {
      list.push_back(FromStruct(batch, Numbers::kDoubles));
    }
    batches = std::move(list);
  }
  return model::Value::Object{{"avg_metrics", FromStruct(metrics.avg_metrics(), Numbers::kDoubles)},
                              {"batch_metrics", std::move(batches)}};
}

model::Value ToRawCheckpoint(const v1::Checkpoint& checkpoint) {
  const v1::CheckpointTrainingMetadata& training = checkpoint.training();
  model::Value::Object resources;
  for (const auto& [path, bytes] : checkpoint.resources()) resources[path] = bytes;
  const model::Value metadata = FromStruct(checkpoint.metadata(), Numbers::kIntegersIfWhole);
  const model::Value* const steps = metadata.Find("steps_completed");
  model::Value allocation, storage, searcher_metric, validation;
  if (checkpoint.has_allocation_id()) allocation = checkpoint.allocation_id();
  if (checkpoint.has_storage_id()) storage = checkpoint.storage_id();
  if (training.has_searcher_metric()) searcher_metric = training.searcher_metric();
  if (training.validation_metrics().has_avg_metrics()) {
    validation = FromStruct(training.validation_metrics().avg_metrics(), Numbers::kDoubles);
  }
  model::Value::Object out = {
      {"ID", 0},  // clients expect a number; checkpoints are identified by their UUID
      {"UUID", checkpoint.uuid()},
      {"TaskID", checkpoint.task_id()},
      {"AllocationID", std::move(allocation)},
      {"ReportTime", TimeUtil::ToString(checkpoint.report_time())},
      {"State", "COMPLETED"},
      {"Resources", std::move(resources)},
      {"Metadata", metadata},
      {"Size", checkpoint.size()},
      {"StorageID", std::move(storage)},
      {"TrialID", training.trial_id()},
      {"ExperimentID", training.experiment_id()},
      {"ExperimentConfig", FromStruct(training.experiment_config(), Numbers::kIntegersIfWhole)},
      {"HParams", FromStruct(training.hparams(), Numbers::kIntegersIfWhole)},
      {"TrainingMetrics", ToRawMetrics(training.training_metrics())},
      {"ValidationMetrics", validation},
      {"SearcherMetric", std::move(searcher_metric)},
      {"StepsCompleted", steps == nullptr ? model::Value(0) : *steps}};
  // The existing client prints only checkpoints with this member.
  if (!validation.is_null()) out["step"] = model::Value::Object{{"validation", validation}};
  return out;
}

// ---- files ----

// Sends `text` in chunks.
void SendInChunks(std::string text, const char* type, Stream<HttpBody>& stream) {
  struct State {
    const std::string text;
    size_t offset = 0;
  };
  stream.Start(
      [state = std::make_shared<State>(State{std::move(text)}), type](auto& out) {
        HttpBody body;
        body.set_content_type(type);
        body.set_data(state->text.substr(state->offset, kChunkSize));
        state->offset += body.data().size();
        out.Send(std::move(body));
        if (state->offset == state->text.size()) return out.Close(absl::OkStatus());
        out.Wake();
      },
      nullptr);
}

void SendNextChunk(CheckpointArchive& archive, const char* type, Stream<HttpBody>& out) {
  absl::StatusOr<std::string> chunk = archive.Next();
  if (!chunk.ok() || chunk->empty()) return out.Close(chunk.status());
  HttpBody body;
  body.set_content_type(type);
  body.set_data(*std::move(chunk));
  out.Send(std::move(body));
  out.Wake();
}

// Returns the requested format, or the supported format that `accept` lists first. Returns
// INVALID_ARGUMENT if `accept` lists no supported format.
absl::StatusOr<Format> SelectFormat(const v1::DownloadCheckpointRequest& request,
                                    const std::string& accept) {
  if (request.format() != v1::DownloadCheckpointRequest::FORMAT_UNSPECIFIED) {
    return request.format() == v1::DownloadCheckpointRequest::FORMAT_ZIP ? Format::kZip
                                                                         : Format::kTgz;
  }
  const size_t zip = accept.find(kZip);
  const size_t tgz = std::min({accept.find(kGzip), accept.find("*/*"), accept.find("application/*"),
                               accept.find("application/x-gtar")});
  if (zip == accept.npos && tgz == accept.npos && !accept.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Accept: ", accept, " is not supported; use ", kGzip, " or ", kZip));
  }
  return zip < tgz ? Format::kZip : Format::kTgz;
}

class RawService final : public ApiService<v1::RawService> {
 public:
  RawService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
             const checkpoint_storage::CheckpointLocations& checkpoint_locations)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        checkpoint_locations_(checkpoint_locations) {}

  grpc::ServerWriteReactor<google::api::HttpBody>* DownloadCheckpoint(
      grpc::CallbackServerContext* context, const v1::DownloadCheckpointRequest* request) override {
    return ServerStream<HttpBody>(
        __func__, context, request,
        [this, request = *request, accept = GetAcceptHeader(*context)](
            const auth::Principal&, std::shared_ptr<Stream<HttpBody>> stream) {
          const absl::StatusOr<Format> format = SelectFormat(request, accept);
          if (!format.ok()) return stream->Close(format.status());
          auto archive = OpenArchive(model::CheckpointId(request.checkpoint_uuid()), *format);
          if (!archive.ok()) return stream->Close(archive.status());
          const char* const type = *format == Format::kZip ? kZip : kGzip;
          stream->Start([archive = *std::move(archive),
                         type](auto& out) { SendNextChunk(*archive, type, out); },
                        nullptr);
        });
  }

  grpc::ServerWriteReactor<google::api::HttpBody>* DownloadModelDef(
      grpc::CallbackServerContext* context, const v1::DownloadModelDefRequest* request) override {
    return ServerStream<HttpBody>(
        __func__, context, request,
        [this, id = request->experiment_id()](const auth::Principal&,
                                              const std::shared_ptr<Stream<HttpBody>>& stream) {
          absl::StatusOr<std::string> tgz = ReadContext(id);
          if (!tgz.ok()) return stream->Close(tgz.status());
          SendInChunks(*std::move(tgz), kGzip, *stream);
        });
  }

  grpc::ServerWriteReactor<google::api::HttpBody>* DownloadModelDefFile(
      grpc::CallbackServerContext* context,
      const v1::DownloadModelDefFileRequest* request) override {
    return ServerStream<HttpBody>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   const std::shared_ptr<Stream<HttpBody>>& stream) {
          const absl::StatusOr<std::string> tgz = ReadContext(request.experiment_id());
          if (!tgz.ok()) return stream->Close(tgz.status());
          absl::StatusOr<std::string> file = ReadContextFile(*tgz, request.path());
          if (!file.ok()) return stream->Close(file.status());
          const char* type =
              IsText(*file) ? "text/plain; charset=utf-8" : "application/octet-stream";
          SendInChunks(*std::move(file), type, *stream);
        });
  }

  grpc::ServerUnaryReactor* PreviewGc(grpc::CallbackServerContext* context,
                                      const v1::PreviewRetentionRequest* request,
                                      Struct* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          v1::PreviewRetentionResponse preview;
          DET_RETURN_IF_ERROR(Preview(store_, *request, &preview));
          DET_ASSIGN_OR_RETURN(const auto record,
                               store_.GetExperiment(model::ExperimentId(request->id())));
          model::Value::List checkpoints;
          for (const v1::Checkpoint& checkpoint : preview.checkpoints()) {
            checkpoints.push_back(ToRawCheckpoint(checkpoint));
          }
          // Existing clients know null for none.
          *response = ToStruct(model::Value::Object{
              {"metric_name", record.experiment.config->searcher.metric},
              {"checkpoints",
               checkpoints.empty() ? model::Value() : model::Value(std::move(checkpoints))}});
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* GetTaskSummaries(grpc::CallbackServerContext* context,
                                             const v1::GetTasksRequest* request,
                                             Struct* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& caller, Done done) {
                   auto tasks = std::make_shared<v1::GetTasksResponse>();
                   v1::GetTasksResponse* const filled = tasks.get();
                   ReadTaskSummaries(engine_, store_, caller, filled,
                                     [tasks = std::move(tasks), response,
                                      done = std::move(done)](const absl::Status& status) mutable {
                                       if (status.ok()) *response = ToRawTasks(*tasks);
                                       done(status);
                                     });
                 });
  }

  grpc::ServerUnaryReactor* GetRawMe(grpc::CallbackServerContext* context,
                                     const v1::GetMeRequest* request, Struct* response) override {
    return Unary(__func__, context, request, response,
                 [this, response](const auth::Principal& caller) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto user, store_.users().GetUser(caller.user));
                   *response = ToStruct(ToRawUser(user));
                   return absl::OkStatus();
                 });
  }

 private:
  absl::StatusOr<std::string> ReadContext(int id) const {
    DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                         store_.GetExperiment(model::ExperimentId(id)));
    const std::string& hash = record.experiment.context_hash;
    if (hash.empty()) {
      return absl::NotFoundError(absl::StrCat("experiment ", id, " has no context directory"));
    }
    return store_.GetContext(hash);
  }

  // Reads the checkpoint and its experiment before the stream starts, so that their errors become
  // the status of the call.
  absl::StatusOr<std::shared_ptr<CheckpointArchive>> OpenArchive(const model::CheckpointId& id,
                                                                 Format format) const {
    DET_ASSIGN_OR_RETURN(const auto entry, store_.GetCheckpoint(id));
    DET_RETURN_IF_ERROR(CheckFilesNotDeleted(entry.checkpoint));
    DET_ASSIGN_OR_RETURN(const auto experiment, store_.GetExperiment(entry.experiment));
    CheckpointStorages storages(store_);
    DET_ASSIGN_OR_RETURN(
        const auto storage,
        storages.Find(entry.checkpoint, experiment.experiment.config->checkpoint_storage));
    DET_RETURN_IF_ERROR(CheckReachable(experiment.experiment, storage));
    CheckpointArchive::Open open = [this, id, storage](const std::string& path) {
      return OpenCheckpointFile(checkpoint_locations_.buckets, storage, id, path);
    };
    return std::make_shared<CheckpointArchive>(format, entry.checkpoint.resources,
                                               entry.checkpoint.time, std::move(open));
  }

  engine::Engine& engine_;
  store::Store& store_;
  const checkpoint_storage::CheckpointLocations& checkpoint_locations_;
};

}  // namespace

std::unique_ptr<Service> MakeRawService(
    CallPipeline& calls, engine::Engine& engine, store::Store& store,
    const checkpoint_storage::CheckpointLocations& checkpoint_locations) {
  return std::make_unique<RawService>(calls, engine, store, checkpoint_locations);
}

}  // namespace det::api
