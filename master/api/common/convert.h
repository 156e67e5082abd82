// Converts between the model and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_COMMON_CONVERT_H_
#define MASTER_API_COMMON_CONVERT_H_

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "det/api/v1/checkpoint.pb.h"
#include "det/api/v1/common.pb.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/task.pb.h"
#include "det/api/v1/trial.pb.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/timestamp.pb.h"
#include "master/api/common/list_request.h"
#include "master/api/common/live_trials.h"
#include "master/core/experiment/allocation.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/interfaces/garbage_collection.h"
#include "master/store/interfaces/records.h"

namespace det::proto {
class WrittenParts;
}  // namespace det::proto

namespace det::api {

// ---- values ----

google::protobuf::Timestamp ToProto(absl::Time time);
absl::Time FromProto(const google::protobuf::Timestamp& time);

// Not-a-number and the infinities become the strings "NaN", "Infinity", "-Infinity", which JSON can
// carry. A value that is not an object becomes an empty Struct.
google::protobuf::Struct ToStruct(const model::Value& value);
google::protobuf::Value ToProtoValue(const model::Value& value);

// How the numbers of a Struct, which are all doubles, are converted.
enum class Numbers {
  kDoubles,          // metrics; the three strings above become numbers again
  kIntegersIfWhole,  // free-form data
};
model::Value FromStruct(const google::protobuf::Struct& value, Numbers numbers);

// ---- resources ----

// The configuration as users see it, with its current place in the queue.
model::Value ToShownConfig(const store::ExperimentRecord& record);
// `detail`: as one experiment is read, with its original configuration; in a list, with its
// hyperparameters instead.
// Its configuration becomes a part in `written`, unless that is null.
v1::Experiment ToProto(const store::ExperimentRecord& record, const LiveTrials& live,
                       absl::Time now, bool detail, proto::WrittenParts* written = nullptr);
// `runs`: the trial's allocations, oldest first.
v1::Trial ToProto(const store::TrialRecord& record, const LiveTrials& live,
                  const std::vector<experiment::Allocation>& runs, absl::Time now);
// Existing clients read the searcher's metric of a trial without looking whether it has one.
inline v1::Trial WithSearcherMetric(v1::Trial trial) {
  trial.set_searcher_metric_value(trial.searcher_metric_value());
  return trial;
}
v1::Allocation ToProto(const experiment::Allocation& allocation, const std::string& wait_reason);
// `storage_path`: the checkpoint's folder; `config`: the experiment's configuration.
v1::Checkpoint ToProto(const store::CheckpointEntry& entry, const std::string& storage_path,
                       const google::protobuf::Struct& config);
// `metrics`: null if they were not reported; `batches`: a list of objects, or null.
v1::Metrics ToMetrics(const model::Value& metrics, const model::Value& batches);
// Parts of a trial, or elements of the list of its workloads.
v1::MetricsWorkload ToWorkload(const model::MetricReport& report, bool with_batches = false);
v1::CheckpointWorkload ToWorkload(const model::CheckpointRecord& checkpoint);
v1::HeldCheckpoint ToProto(const store::HeldCheckpoint& held);
// The metrics are in `validation_metrics` or, if the group is another one, in `avg_metrics` and
// `batch_metrics`.
v1::MetricsReport ToProto(const model::MetricReport& report);
google::protobuf::Struct ToProto(const store::MetricSummaries& summaries);
// The ID of the container that wrote the line.
std::string GetContainer(const model::LogLine& line);
v1::TaskLogsResponse ToTaskLog(const store::LogRecord& record);
v1::TrialLogsResponse ToTrialLog(const store::LogRecord& record, model::TrialId trial);

// ---- queries ----

// UUIDs of checkpoints are stored in lower case.
model::CheckpointId ReadCheckpointId(const std::string& uuid);

// The model states that correspond to an API state. Several API states share one model state.
std::optional<model::ExperimentState> FromProto(v1::Experiment::State state);
std::optional<model::TrialState> FromProto(v1::Trial::State state);
std::vector<model::CheckpointState> FromProto(v1::Checkpoint::State state);

// Converts a window of a list of `total` elements to the window of the same list stored newest
// first. The limit of the result is the number of elements in it; 0 means that the window is empty.
store::Window ToNewestFirst(const store::Window& window, bool ascending, int total);
// Keeps the requested window of a whole list that is in ascending order. Reverses the list first if
// the request asks for descending order.
template <class Request, class Element>
v1::Pagination ApplyWindow(const Request& request,
                           google::protobuf::RepeatedPtrField<Element>* list) {
  if (request.order_by() == v1::ORDER_BY_DESC) std::reverse(list->begin(), list->end());
  const int total = list->size();
  const store::Range range = store::Resolve(ToWindow(request.offset(), request.limit()), total);
  list->DeleteSubrange(range.end, total - range.end);
  list->DeleteSubrange(0, range.begin);
  return ToPagination(request.offset(), request.limit(), list->size(), total);
}

// Keeps the names that are also in `kept`. An empty list means "all names" on both sides.
void IntersectNames(const std::vector<std::string>& kept, std::vector<std::string>* names);

// The parts that TaskLogsRequest and TrialLogsRequest share.
template <class Request>
store::LogQuery ToLogQuery(const Request& request, model::TaskId task) {
  store::LogQuery query;
  query.task = std::move(task);
  query.descending = request.order_by() == v1::ORDER_BY_DESC;
  query.allocations.assign(request.allocation_ids().begin(), request.allocation_ids().end());
  query.containers.assign(request.container_ids().begin(), request.container_ids().end());
  query.agents.assign(request.agent_ids().begin(), request.agent_ids().end());
  query.ranks.assign(request.rank_ids().begin(), request.rank_ids().end());
  for (const int level : request.levels()) {
    query.levels.push_back(static_cast<model::LogLevel>(level));
  }
  query.stdtypes.assign(request.stdtypes().begin(), request.stdtypes().end());
  query.sources.assign(request.sources().begin(), request.sources().end());
  if (request.has_timestamp_before()) query.before = FromProto(request.timestamp_before());
  if (request.has_timestamp_after()) query.after = FromProto(request.timestamp_after());
  if (!request.enable_regex()) query.contains = request.search_text();
  query.after_id = request.after_id();
  query.before_id = request.before_id();
  return query;
}

// The regular expression that lines must match; empty matches any line.
template <class Request>
std::string GetPattern(const Request& request) {
  return request.enable_regex() ? request.search_text() : std::string();
}

}  // namespace det::api

#endif  // MASTER_API_COMMON_CONVERT_H_
