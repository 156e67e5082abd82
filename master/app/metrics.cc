#include "master/app/metrics.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace det::app {
namespace {

using Values = std::map<std::string, double>;  // by labels, "{state=\"RUNNING\"}"

template <class Value>
std::string Label(absl::string_view name, const Value& value) {
  return absl::StrCat("{", name, "=\"", value, "\"}");
}

// std::string_view and absl::string_view are different types here.
absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// Counts of the cluster's state at one moment.
struct Counts {
  int agents = 0;
  int slots = 0;
  int slots_in_use = 0;
  Values allocations;
  Values experiments;
};

Counts Count(const cluster::Cluster& cluster) {
  Counts counts;
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected) continue;
    ++counts.agents;
    counts.slots += static_cast<int>(agent.slots.size());
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    ++counts.allocations[Label("state", View(model::ToString(allocation->state)))];
    for (const experiment::LocalTask& local_task : allocation->local_tasks) {
      if (!local_task.exited)
        counts.slots_in_use += static_cast<int>(local_task.placement.slots.size());
    }
  }
  for (const experiment::Experiment* experiment : cluster.live_experiments()) {
    ++counts.experiments[Label("state", View(model::ToString(experiment->state)))];
  }
  return counts;
}

void Append(absl::string_view name, absl::string_view type, absl::string_view help,
            const Values& values, std::string* out) {
  absl::StrAppend(out, "# HELP det_", name, " ", help, "\n# TYPE det_", name, " ", type, "\n");
  for (const auto& [labels, value] : values) {
    absl::StrAppend(out, "det_", name, labels, " ", value, "\n");
  }
}

Values One(double value) { return {{"", value}}; }

void Append(absl::string_view name, absl::string_view help, const engine::Histogram& histogram,
            std::string* out) {
  absl::StrAppend(out, "# HELP det_", name, " ", help, "\n# TYPE det_", name, " histogram\n");
  int64_t count = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    count += histogram.counts[i];
    const std::string bound =
        i < histogram.kBounds.size() ? absl::StrCat(histogram.kBounds[i]) : "+Inf";
    absl::StrAppend(out, "det_", name, "_bucket", Label("le", bound), " ", count, "\n");
  }
  absl::StrAppend(out, "det_", name, "_sum ", histogram.sum, "\n");
  absl::StrAppend(out, "det_", name, "_count ", count, "\n");
}

// Appends the metrics that are read from the engine.
void AppendEngine(const engine::Engine& engine, const Counts& counts, bool answers,
                  std::string* out) {
  const engine::CommitStats stats = engine.stats();
  Append("up", "gauge", "1 while commits succeed.", One(engine.health().ok() && answers ? 1 : 0),
         out);
  Append("engine_commits_total", "counter", "Group commits.",
         One(static_cast<double>(stats.commits)), out);
  Append("engine_changes_total", "counter", "Row changes in group commits.",
         One(static_cast<double>(stats.changes)), out);
  Append("engine_commit_retries_total", "counter", "Retried commits.",
         One(static_cast<double>(stats.retries)), out);
  Append("engine_commit_latency_seconds", "Events, from their submission to their commit.",
         engine.commit_latency(), out);
  Append("agents", "gauge", "Connected agents.", One(counts.agents), out);
  Append("slots", "gauge", "Slots of connected agents.", One(counts.slots), out);
  Append("slots_in_use", "gauge", "Slots that allocations hold.", One(counts.slots_in_use), out);
  Append("allocations", "gauge", "Live allocations.", counts.allocations, out);
  Append("experiments", "gauge", "Live experiments.", counts.experiments, out);
}

}  // namespace

void Metrics::CountResponse(int status) {
  std::lock_guard lock(mutex_);
  ++responses_[status];
}

void Metrics::CountCall(absl::StatusCode code) {
  std::lock_guard lock(mutex_);
  ++calls_[code];
}

void Metrics::CountLostAudit(int64_t records) {
  std::lock_guard lock(mutex_);
  lost_audit_ += records;
}

void Metrics::Render(engine::Engine& engine, absl::AnyInvocable<void(std::string)> reply) {
  Values responses, calls;
  double lost_audit = 0;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [status, count] : responses_) {
      responses[Label("code", status)] = static_cast<double>(count);
    }
    for (const auto& [code, count] : calls_) {
      calls[Label("code", absl::StatusCodeToString(code))] = static_cast<double>(count);
    }
    lost_audit = static_cast<double>(lost_audit_);
  }
  auto counts = std::make_shared<Counts>();
  engine.Query([counts](const cluster::Cluster& cluster) { *counts = Count(cluster); },
               [counts, responses = std::move(responses), calls = std::move(calls), lost_audit,
                &engine, reply = std::move(reply)](const absl::Status& status) mutable {
                 std::string out;
                 AppendEngine(engine, *counts, status.ok(), &out);
                 Append("http_responses_total", "counter", "HTTP responses.", responses, &out);
                 Append("calls_total", "counter", "Unary calls by status code, over HTTP and gRPC.",
                        calls, &out);
                 Append("audit_lost_total", "counter",
                        "Audit records that were only logged because the database was "
                        "unavailable.",
                        One(lost_audit), &out);
                 reply(std::move(out));
               });
}

}  // namespace det::app
