#include "master/app/metrics.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

namespace det::app {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// The state of the cluster at one moment.
struct Counts {
  int agents = 0;
  int slots = 0;
  int slots_in_use = 0;
  std::map<std::string_view, int> allocations;  // by state
  std::map<std::string_view, int> experiments;  // by state
};

Counts Count(const cluster::Cluster& cluster) {
  Counts counts;
  for (const auto& [id, agent] : cluster.agents()) {
    if (!agent.connected) continue;
    ++counts.agents;
    counts.slots += static_cast<int>(agent.slots.size());
  }
  for (const experiment::Allocation* allocation : cluster.live_allocations()) {
    ++counts.allocations[model::ToString(allocation->state)];
    for (const experiment::LocalTask& local_task : allocation->local_tasks) {
      if (!local_task.exited) {
        counts.slots_in_use += static_cast<int>(local_task.placement.slots.size());
      }
    }
  }
  for (const experiment::Experiment* experiment : cluster.live_experiments()) {
    ++counts.experiments[model::ToString(experiment->state)];
  }
  return counts;
}

MetricFamily Gauge(const std::string& name, const std::string& help, double value) {
  MetricFamily family{name, help, MetricType::Gauge, {}};
  family.metric.emplace_back().gauge.value = value;
  return family;
}

MetricFamily GaugeByState(const std::string& name, const std::string& help,
                          const std::map<std::string_view, int>& counts) {
  MetricFamily family{name, help, MetricType::Gauge, {}};
  for (const auto& [state, count] : counts) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label.push_back({"state", std::string(state)});
    metric.gauge.value = count;
  }
  return family;
}

MetricFamily Counter(const std::string& name, const std::string& help, int64_t value) {
  MetricFamily family{name, help, MetricType::Counter, {}};
  family.metric.emplace_back().counter.value = static_cast<double>(value);
  return family;
}

MetricFamily ToFamily(const std::string& name, const std::string& help,
                      const engine::Histogram& histogram) {
  MetricFamily family{name, help, MetricType::Histogram, {}};
  ClientMetric::Histogram& out = family.metric.emplace_back().histogram;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    out.sample_count += static_cast<uint64_t>(histogram.counts[i]);
    // The serializer adds the bucket without a bound.
    if (i < histogram.kBounds.size()) {
      out.bucket.push_back({out.sample_count, histogram.kBounds[i]});
    }
  }
  out.sample_sum = histogram.sum;
  return family;
}

// All metrics that are read, not counted by Metrics. `leads` is false if another master may lead.
std::vector<MetricFamily> Collect(const engine::Engine& engine, const Counts& counts, bool leads) {
  const engine::CommitStats stats = engine.stats();
  return {
      Gauge("det_up", "1 while commits succeed.", engine.health().ok() && leads ? 1 : 0),
      Counter("det_engine_commits_total", "Group commits.", stats.commits),
      Counter("det_engine_changes_total", "Row changes in group commits.", stats.changes),
      Counter("det_engine_commit_retries_total", "Retried commits.", stats.retries),
      ToFamily("det_engine_commit_latency_seconds",
               "Time from the submission of an event to its commit.", engine.commit_latency()),
      Gauge("det_agents", "Connected agents.", counts.agents),
      Gauge("det_slots", "Slots of connected agents.", counts.slots),
      Gauge("det_slots_in_use", "Slots that allocations hold.", counts.slots_in_use),
      GaugeByState("det_allocations", "Live allocations.", counts.allocations),
      GaugeByState("det_experiments", "Live experiments.", counts.experiments),
  };
}

}  // namespace

Metrics::Metrics()
    : responses_(prometheus::BuildCounter()
                     .Name("det_http_responses_total")
                     .Help("HTTP responses by status.")
                     .Register(registry_)),
      calls_(prometheus::BuildCounter()
                 .Name("det_calls_total")
                 .Help("Unary calls by status code, over HTTP and gRPC.")
                 .Register(registry_)),
      lost_audit_(prometheus::BuildCounter()
                      .Name("det_audit_lost_total")
                      .Help("Audit records that were only logged because the database was "
                            "unavailable.")
                      .Register(registry_)
                      .Add({})) {}

void Metrics::CountResponse(int status) {
  responses_.Add({{"code", std::to_string(status)}}).Increment();
}

void Metrics::CountCall(absl::StatusCode code) {
  calls_.Add({{"code", absl::StatusCodeToString(code)}}).Increment();
}

void Metrics::CountLostAudit(int64_t records) {
  lost_audit_.Increment(static_cast<double>(records));
}

void Metrics::Render(engine::Engine& engine, absl::AnyInvocable<void(std::string)> reply) {
  auto counts = std::make_shared<Counts>();
  engine.Query(
      [counts](const cluster::Cluster& cluster) { *counts = Count(cluster); },
      [this, counts, &engine, reply = std::move(reply)](const absl::Status& status) mutable {
        std::vector<MetricFamily> families = Collect(engine, *counts, status.ok());
        for (MetricFamily& counted : registry_.Collect()) {
          families.push_back(std::move(counted));
        }
        reply(prometheus::TextSerializer().Serialize(families));
      });
}

}  // namespace det::app
