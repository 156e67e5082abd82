#include "master/store/interfaces/canonical.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "base/check.h"
#include "base/utf8.h"
#include "master/store/interfaces/task_document.h"

namespace det::store {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";    // U+FFFD
constexpr char kStoredNul[] = "\xF4\x8F\xBF\xBF";  // U+10FFFF

void CleanInPlace(std::string& text) { text = SanitizeText(text); }

template <class Tag>
void CleanInPlace(base::Id<Tag, std::string>& id) {
  id = base::Id<Tag, std::string>(SanitizeText(id.value()));
}

template <class T>
void CleanInPlace(std::optional<T>& value) {
  if constexpr (std::is_same_v<T, absl::Time>) {
    if (value) value = Canonical(*value);
  } else {
    if (value) CleanInPlace(*value);
  }
}

void CleanInPlace(absl::Time& time) { time = Canonical(time); }
void CleanInPlace(model::Value& value) { value = Canonical(value); }

template <class... T>
void CleanAll(T&... values) {
  (CleanInPlace(values), ...);
}

void CleanInPlace(cluster::PutExperiment& put) {
  experiment::Experiment& e = put.experiment;
  CleanAll(e.job, e.owner_name, e.request_id, e.original_config, e.context_hash, e.warm_start,
           e.queue.resource_pool, e.reason, e.created_at, e.ended_at);
}

void CleanInPlace(cluster::PutTrial& put) {
  experiment::Trial& t = put.trial;
  CleanAll(t.request, t.task, t.reason, t.allocation, t.latest_checkpoint, t.warm_start,
           t.runner_state, t.no_restart, t.log_policy, t.created_at, t.ended_at);
  for (model::AgentId& agent : t.blocked) CleanInPlace(agent);
  for (model::AgentId& agent : t.suspects) CleanInPlace(agent);
  t.hparams = *Canonical(model::Value(t.hparams)).AsObject();
}

void CleanInPlace(cluster::PutTask& put) {
  experiment::Task& t = put.task;
  CleanAll(t.id, t.owner_name, t.workspace_name, t.parent, t.forked_from, t.queue.resource_pool,
           t.reason, t.allocation, t.created_at, t.ended_at);
  t.definition = std::make_shared<const model::TaskDefinition>(
      ToTaskDefinition(Canonical(ToDocument(*t.definition))));
}

void CleanInPlace(cluster::PutAllocation& put) {
  experiment::Allocation& a = put.allocation;
  CleanAll(a.id, a.task, a.job, a.resource_pool, a.preemption_reason, a.deadline,
           a.reported_message, a.exit_message, a.queued_at, a.started_at, a.ended_at, a.saved_at);
  for (experiment::LocalTask& local_task : a.local_tasks) {
    CleanAll(local_task.placement.agent, local_task.message, local_task.suspect);
  }
}

void CleanInPlace(cluster::PutAgent& put) {
  model::Agent& agent = put.agent;
  CleanAll(agent.id, agent.version, agent.address, agent.resource_pool, agent.network_switch,
           agent.registered_at);
  for (model::Device& device : agent.slots) CleanAll(device.brand, device.uuid);
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : agent.labels)
    labels.emplace(SanitizeText(key), SanitizeText(value));
  agent.labels = std::move(labels);
}
void CleanInPlace(cluster::DropAgent& drop) { CleanInPlace(drop.id); }
void CleanInPlace(cluster::AddCapacity& add) { CleanAll(add.agent, add.resource_pool, add.at); }

void CleanInPlace(cluster::PutAgentState& put) {
  CleanInPlace(put.agent.id);
  for (auto& [id, slot] : put.agent.slots) CleanInPlace(slot.reason);
  for (model::Maintenance& window : put.agent.maintenance) {
    CleanAll(window.begin, window.end, window.note);
  }
}

void CleanInPlace(cluster::PutPool& put) {
  CleanAll(put.pool.name, put.pool.description);
  for (std::string& workspace : put.pool.workspaces) CleanInPlace(workspace);
}
void CleanInPlace(cluster::DropPool& drop) { CleanInPlace(drop.name); }
void CleanInPlace(cluster::PutDefaultPools& put) { CleanAll(put.compute, put.aux); }
void CleanInPlace(cluster::SetQuota& set) { CleanInPlace(set.quota.name); }
void CleanInPlace(cluster::DropQuota& drop) { CleanInPlace(drop.name); }

void CleanInPlace(cluster::PutSearcher& put) { CleanAll(put.snapshot); }
void CleanInPlace(cluster::AddSearcherEvents& add) { CleanAll(add.events); }
void CleanInPlace(cluster::AddMetrics& add) { add.report = Canonical(std::move(add.report)); }
void CleanInPlace(cluster::RaiseWebhooks& raise) { CleanAll(raise.event.data, raise.event.at); }
void CleanInPlace(cluster::AddLogLine& add) { add.line = Canonical(std::move(add.line)); }

void CleanInPlace(cluster::SetProject& set) {
  CleanAll(set.to.workspace_name, set.to.project_name);
}
void CleanInPlace(cluster::SetExperimentDetails& set) {
  CleanAll(set.details.name, set.details.description, set.details.notes);
  if (!set.details.labels) return;
  for (std::string& label : *set.details.labels) CleanInPlace(label);
}

// Ids and numbers.
void CleanInPlace(cluster::SetArchived&) {}
void CleanInPlace(cluster::MarkDeleting&) {}
void CleanInPlace(cluster::PutRetention&) {}
void CleanInPlace(cluster::DropCheckpoints& drop) {
  for (model::CheckpointId& id : drop.ids) CleanInPlace(id);
}
void CleanInPlace(cluster::TrimCheckpoint& trim) {
  CleanInPlace(trim.id);
  for (std::string& glob : trim.globs) CleanInPlace(glob);
}
void CleanInPlace(cluster::ApplyRetention& retain) {
  for (model::CheckpointId& id : retain.drop) CleanInPlace(id);
}

void CleanInPlace(cluster::MarkDamaged& mark) { CleanAll(mark.id, mark.damage); }

void CleanInPlace(cluster::AddCheckpoint& add) {
  model::CheckpointRecord& c = add.checkpoint;
  CleanAll(c.id, c.allocation, c.metadata, c.time);
  model::Resources resources;
  for (const auto& [path, size] : c.resources) resources.emplace(SanitizeText(path), size);
  c.resources = std::move(resources);
}

}  // namespace

std::string SanitizeText(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t length = text.front() == '\0' ? 0 : base::Utf8Length(text);
    clean.append(length > 0 ? text.substr(0, length) : kReplacement);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return clean;
}

std::string EncodeLogText(std::string_view text) {
  return absl::StrReplaceAll(
      absl::string_view(text.data(), text.size()),
      {{kStoredNul, kReplacement}, {absl::string_view("\0", 1), kStoredNul}});
}
std::string DecodeLogText(std::string_view text) {
  return absl::StrReplaceAll(absl::string_view(text.data(), text.size()),
                             {{kStoredNul, absl::string_view("\0", 1)}});
}

std::string SanitizeJson(const model::Value& value) {
  std::string json = value.ToJson();
  if (json.find("\\u0000") == std::string::npos) return json;
  std::string clean;
  for (size_t i = 0; i < json.size();) {
    if (json[i] != '\\') {
      clean.push_back(json[i++]);
    } else if (json.compare(i, 6, "\\u0000") == 0) {
      clean.append(kReplacement);
      i += 6;
    } else {
      clean.append(json, i, 2);
      i += 2;
    }
  }
  return clean;
}

model::Value Canonical(const model::Value& value) {
  absl::StatusOr<model::Value> back = model::Value::FromJson(SanitizeJson(value));
  DET_CHECK_OK(back) << "the JSON of a value must be readable";
  return *std::move(back);
}

absl::Time Canonical(absl::Time time) {
  // The range that a database stores: the years 1 to 9999, as protobuf's Timestamp.
  static const absl::Time kFirst = absl::FromCivil(absl::CivilYear(1), absl::UTCTimeZone());
  static const absl::Time kEnd = absl::FromCivil(absl::CivilYear(10000), absl::UTCTimeZone());
  if (time >= kEnd) return absl::InfiniteFuture();
  if (time < kFirst) return absl::InfinitePast();
  return absl::FromUnixMicros(absl::ToUnixMicros(time));
}

model::LogLevel Canonical(model::LogLevel level) {
  const bool known = level >= model::LogLevel::kUnknown && level <= model::LogLevel::kCritical;
  return known ? level : model::LogLevel::kUnknown;
}

cluster::Change Canonical(cluster::Change change) {
  std::visit([](auto& kind) { CleanInPlace(kind); }, change);
  return change;
}

model::MetricReport Canonical(model::MetricReport report) {
  CleanAll(report.group, report.time, report.metrics, report.batch_metrics);
  return report;
}

model::LogLine Canonical(model::LogLine line) {
  CleanAll(line.task, line.allocation, line.agent, line.container, line.time, line.stdtype,
           line.source);
  line.text = DecodeLogText(SanitizeText(EncodeLogText(line.text)));
  line.level = Canonical(line.level);
  return line;
}

std::optional<double> GetMetricNumber(const model::Value& metrics, const std::string& name) {
  const model::Value* metric = metrics.Find(name);
  if (metric == nullptr) return std::nullopt;
  if (const std::string* text = metric->AsString()) {
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
  }
  return metric->AsNumber();
}

NumberCurve ExtractNumbers(const std::vector<model::MetricReport>& reports,
                           const std::string& name) {
  NumberCurve curve;
  for (const model::MetricReport& report : reports) {
    if (report.metrics.Find(name) == nullptr) continue;
    curve.steps.push_back(report.steps_completed);
    curve.values.push_back(
        GetMetricNumber(report.metrics, name).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return curve;
}

model::CheckpointStorageConfig ToStorageConfig(const model::Value& registered) {
  model::CheckpointStorageConfig storage;
  const std::pair<const char*, std::string*> members[] = {
      {"type", &storage.type},
      {"host_path", &storage.host_path},
      {"storage_path", &storage.storage_path},
      {"container_path", &storage.container_path},
      {"bucket", &storage.bucket},
      {"prefix", &storage.prefix},
      {"access_key", &storage.access_key},
      {"secret_key", &storage.secret_key},
      {"endpoint_url", &storage.endpoint_url},
      {"container", &storage.container},
      {"connection_string", &storage.connection_string},
      {"account_url", &storage.account_url},
      {"credential", &storage.credential},
  };
  for (const auto& [name, member] : members) {
    const model::Value* value = registered.Find(name);
    if (value != nullptr && value->AsString() != nullptr) *member = *value->AsString();
  }
  return storage;
}

bool IsOutside(const experiment::Experiment& experiment,
               const model::CheckpointStorageConfig& storage) {
  return experiment.unmanaged && (storage.type == "shared_fs" || storage.type == "directory");
}

int64_t ComputeTotalSize(const model::CheckpointRecord& checkpoint) {
  int64_t size = 0;
  for (const auto& [path, bytes] : checkpoint.resources) size += bytes;
  return size;
}

const CheckpointEntry* FindBest(const std::vector<const CheckpointEntry*>& checkpoints,
                                bool smaller_is_better) {
  const CheckpointEntry* best = nullptr;
  for (const CheckpointEntry* entry : checkpoints) {
    if (!entry->searcher_metric || !std::isfinite(*entry->searcher_metric)) continue;
    if (entry->checkpoint.state != model::CheckpointState::kCompleted) continue;
    if (best != nullptr) {
      const double mine = *entry->searcher_metric;
      const double theirs = *best->searcher_metric;
      const auto order = [](const CheckpointEntry* e) {
        return std::tie(e->checkpoint.steps_completed, e->checkpoint.id);
      };
      const bool earlier = order(entry) < order(best);
      if (mine == theirs ? !earlier : (mine < theirs) != smaller_is_better) continue;
    }
    best = entry;
  }
  return best;
}

Range Resolve(const Window& window, int total) {
  const int64_t requested = window.offset < 0 ? int64_t{total} + window.offset : window.offset;
  const int64_t begin = std::clamp<int64_t>(requested, 0, total);
  const int64_t limit = window.limit == 0 ? total : std::max(window.limit, 0);
  return {static_cast<int>(begin), static_cast<int>(std::min<int64_t>(total, begin + limit))};
}

}  // namespace det::store
