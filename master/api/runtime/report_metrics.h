// Converts and stores the metrics that a running trial reports.
//
// Used by the runtime services. Called on the pool; blocks.
#ifndef MASTER_API_RUNTIME_REPORT_METRICS_H_
#define MASTER_API_RUNTIME_REPORT_METRICS_H_

#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/thread_pool.h"
#include "det/trial/v1/trial.pb.h"
#include "master/api/rpc/call.h"
#include "master/core/model/reports.h"
#include "master/engine/engine.h"
#include "master/live/experiment_watch.h"
#include "master/store/interfaces/store.h"

namespace det::webhooks {
class TriggerWatch;
}  // namespace det::webhooks

namespace det::api {

// Converts all reports of a request; a report without a time gets `now`. INVALID_ARGUMENT if a
// group or a number of steps of any of them is invalid: then nothing is stored.
absl::StatusOr<std::vector<model::MetricReport>> ToReports(
    const det::trial::v1::ReportMetricsRequest& request, absl::Time now);

// Returns a Done that checks the triggers of webhooks after the reports were stored and before the
// sender gets its response. It may be called on a thread that must not block.
Done CheckTriggersAfter(webhooks::TriggerWatch* triggers, base::ThreadPool& pool,
                        const std::vector<model::MetricReport>& reports, Done done);

// Stores the reports and notifies the watches of `experiment`, the experiment of the trial. The
// validations are submitted to the engine as one event, because the searcher reads them; the other
// reports are written to the store directly. `done` is called when all are durable. Before it,
// `on_best`, which may be null, is called if one of the validations is the best of the experiment.
//
// A second report of a step adds its metrics: the searcher gets the complete validation, once. If a
// report changes a value, it is refused with INVALID_ARGUMENT and the others are stored; they reach
// the watches and the triggers. If two requests report a step at the same time, the metrics of both
// are stored.
void AddMetrics(engine::Engine& engine, store::Store& store, live::ExperimentWatch& watch,
                webhooks::TriggerWatch* triggers, base::ThreadPool& pool,
                model::ExperimentId experiment, const model::AllocationId& allocation,
                std::vector<model::MetricReport> reports, absl::AnyInvocable<void()> on_best,
                Done done);

}  // namespace det::api

#endif  // MASTER_API_RUNTIME_REPORT_METRICS_H_
