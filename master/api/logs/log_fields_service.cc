#include <memory>
#include <set>
#include <string>
#include <utility>

#include "det/api/v1/log_fields.grpc.pb.h"
#include "master/api/common/task_trial.h"
#include "master/api/logs/log_stream.h"
#include "master/api/logs/services.h"
#include "master/api/rpc/api_service.h"

namespace det::api {
namespace {

// What was named so far; the ids of containers are those of allocations.
struct Named {
  std::set<std::string> allocations, agents, stdtypes, sources;
  std::set<int> ranks;
};

template <class Repeated>
void AddNew(const std::string& value, std::set<std::string>* known, Repeated* out) {
  if (!value.empty() && known->insert(value).second) *out->Add() = value;
}

template <class Response>
Response NewIn(const std::vector<store::LogRecord>& lines, Named* named) {
  Response response;
  for (const store::LogRecord& record : lines) {
    const model::LogLine& line = record.line;
    const std::string& allocation = line.allocation.value();
    if (!allocation.empty() && named->allocations.insert(allocation).second) {
      if constexpr (requires { response.add_allocation_ids(); }) {
        response.add_allocation_ids(allocation);
      }
      response.add_container_ids(allocation);
    }
    AddNew(line.agent, &named->agents, response.mutable_agent_ids());
    AddNew(line.stdtype, &named->stdtypes, response.mutable_stdtypes());
    AddNew(line.source, &named->sources, response.mutable_sources());
    if (line.rank && named->ranks.insert(*line.rank).second) response.add_rank_ids(*line.rank);
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
          Tell(store_.GetBareTrial(model::TrialId(request.trial_id())), request.follow(),
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
          Tell(GetTrialOfTask(store_, request.task_id()), request.follow(), std::move(stream));
        });
  }

 private:
  template <class Response>
  void Tell(const absl::StatusOr<store::TrialRecord>& record, bool follow,
            std::shared_ptr<Stream<Response>> stream) {
    if (!record.ok()) return stream->Close(record.status());
    LogQuestion question{
        .trial = record->trial.id, .experiment = record->trial.experiment, .follow = follow};
    question.query.task = record->trial.task;
    ServePortions<Response>(store_, watch_, std::move(stream), std::move(question),
                            [named = std::make_shared<Named>()](
                                const std::vector<store::LogRecord>& lines, Stream<Response>& out) {
                              Response fresh = NewIn<Response>(lines, named.get());
                              if (fresh.ByteSizeLong() > 0) out.Send(std::move(fresh));
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
