#include "master/metrics.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace det::master {
namespace {

using Values = std::map<std::string, double>;  // by labels, "{state=\"RUNNING\"}"

// What the cluster holds at one moment.
struct Counts {
  int agents = 0;
  int slots = 0;
  int slots_in_use = 0;
  Values allocations;
};

Counts Count(const cluster::Cluster& cluster) {
  Counts counts;
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected) continue;
    ++counts.agents;
    counts.slots += static_cast<int>(agent.slots.size());
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    const std::string_view state = model::ToString(allocation->state);
    counts.allocations[absl::StrCat("{state=\"", absl::string_view(state.data(), state.size()),
                                    "\"}")] += 1;
    for (const experiment::Share& share : allocation->shares) {
      if (!share.exited) counts.slots_in_use += static_cast<int>(share.placement.slots.size());
    }
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

}  // namespace

void Metrics::CountResponse(int status) {
  std::lock_guard lock(mutex_);
  ++responses_[status];
}

void Metrics::Render(engine::Engine& engine, absl::AnyInvocable<void(std::string)> reply) {
  Values responses;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [status, count] : responses_) {
      responses[absl::StrCat("{code=\"", status, "\"}")] = static_cast<double>(count);
    }
  }
  auto counts = std::make_shared<Counts>();
  engine.Query([counts](const cluster::Cluster& cluster) { *counts = Count(cluster); },
               [counts, responses = std::move(responses), &engine,
                reply = std::move(reply)](const absl::Status& status) mutable {
                 const engine::CommitStats stats = engine.stats();
                 std::string out;
                 Append("up", "gauge", "1 while commits go through.",
                        One(engine.healthy() && status.ok() ? 1 : 0), &out);
                 Append("engine_commits_total", "counter", "Group commits.",
                        One(static_cast<double>(stats.commits)), &out);
                 Append("engine_changes_total", "counter", "Row changes in them.",
                        One(static_cast<double>(stats.changes)), &out);
                 Append("engine_commit_retries_total", "counter", "Commits tried again.",
                        One(static_cast<double>(stats.retries)), &out);
                 Append("agents", "gauge", "Connected agents.", One(counts->agents), &out);
                 Append("slots", "gauge", "Slots of connected agents.", One(counts->slots), &out);
                 Append("slots_in_use", "gauge", "Slots that allocations hold.",
                        One(counts->slots_in_use), &out);
                 Append("allocations", "gauge", "Live allocations.", counts->allocations, &out);
                 Append("http_responses_total", "counter", "HTTP answers.", responses, &out);
                 reply(std::move(out));
               });
}

}  // namespace det::master
