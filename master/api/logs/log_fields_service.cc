#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/log_fields.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/task_trial.h"
#include "master/api/logs/log_stream.h"
#include "master/api/logs/services.h"
#include "master/api/rpc/api_service.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

// The values that were sent before.
struct SeenFields {
  bool any = false;  // a message was sent
  std::set<std::string> allocations;
  std::set<std::string> containers;
  std::set<std::string> agents;
  std::set<std::string> stdtypes;
  std::set<std::string> sources;
  std::set<int> ranks;
};

template <class Repeated>
void AddNew(const std::string& value, std::set<std::string>* known, Repeated* out) {
  if (!value.empty() && known->insert(value).second) *out->Add() = value;
}

template <class Response>
Response ExtractNewFields(const std::vector<store::LogRecord>& lines, SeenFields* seen) {
  Response response;
  for (const store::LogRecord& record : lines) {
    const model::LogLine& line = record.line;
    if constexpr (requires { response.mutable_allocation_ids(); }) {
      AddNew(line.allocation.value(), &seen->allocations, response.mutable_allocation_ids());
    }
    AddNew(GetContainer(line), &seen->containers, response.mutable_container_ids());
    AddNew(line.agent, &seen->agents, response.mutable_agent_ids());
    AddNew(line.stdtype, &seen->stdtypes, response.mutable_stdtypes());
    AddNew(line.source, &seen->sources, response.mutable_sources());
    if (line.rank && seen->ranks.insert(*line.rank).second) response.add_rank_ids(*line.rank);
  }
  return response;
}

class LogFieldsService final : public ApiService<v1::LogFieldsService> {
 public:
  LogFieldsService(CallPipeline& calls, store::Store& store, live::ExperimentWatch& watch)
      : ApiService(calls), store_(store), watch_(watch) {}

  grpc::ServerWriteReactor<v1::TrialLogsFieldsResponse>* TrialLogsFields(
      grpc::CallbackServerContext* context, const v1::TrialLogsFieldsRequest* request) override {
    using Response = v1::TrialLogsFieldsResponse;
    return ServerStream<Response>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<Response>> stream) {
          ServeFields(store_.GetBareTrial(model::TrialId(request.trial_id())), request.follow(),
                      std::move(stream));
        });
  }

  grpc::ServerWriteReactor<v1::TaskLogsFieldsResponse>* TaskLogsFields(
      grpc::CallbackServerContext* context, const v1::TaskLogsFieldsRequest* request) override {
    using Response = v1::TaskLogsFieldsResponse;
    return ServerStream<Response>(
        __func__, context, request,
        [this, request = *request](const auth::Principal&,
                                   std::shared_ptr<Stream<Response>> stream) {
          const model::TaskId task(request.task_id());
          if (model::IsOtherTask(task)) {
            const absl::Status found = store_.tasks().Get(task).status();
            if (!found.ok()) return stream->Close(found);
            return ServeFields({.query = {.task = task}, .follow = request.follow()},
                               std::move(stream));
          }
          ServeFields(GetTrialOfTask(store_, request.task_id()), request.follow(),
                      std::move(stream));
        });
  }

 private:
  template <class Response>
  void ServeFields(const absl::StatusOr<store::TrialRecord>& record, bool follow,
                   std::shared_ptr<Stream<Response>> stream) {
    if (!record.ok()) return stream->Close(record.status());
    ServeFields({.query = {.task = record->trial.task},
                 .trial = record->trial.id,
                 .experiment = record->trial.experiment,
                 .follow = follow},
                std::move(stream));
  }

  template <class Response>
  void ServeFields(LogStreamOptions options, std::shared_ptr<Stream<Response>> stream) {
    ServePages<Response>(store_, watch_, std::move(stream), std::move(options),
                         [seen = std::make_shared<SeenFields>()](
                             const std::vector<store::LogRecord>& lines, Stream<Response>& out) {
                           Response response = ExtractNewFields<Response>(lines, seen.get());
                           if (seen->any && response.ByteSizeLong() == 0) return;
                           seen->any = true;
                           out.Send(std::move(response));
                         });
  }

  store::Store& store_;
  live::ExperimentWatch& watch_;
};

}  // namespace

std::unique_ptr<Service> MakeLogFieldsService(CallPipeline& calls, store::Store& store,
                                              live::ExperimentWatch& watch) {
  return std::make_unique<LogFieldsService>(calls, store, watch);
}

}  // namespace det::api
