// Formats a Snapshot or a plan as JSON, with one line for each element of a list.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "master/core/model/value.h"
#include "master/core/scheduler/json/format.h"
#include "master/core/scheduler/json/snapshot_json.h"

namespace det::scheduler {
namespace {

using model::Value;

Value Text(std::string_view text) { return std::string(text); }

Value Time(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone());
}

// Whole seconds as a number, otherwise a duration such as "1.5ms".
Value Span(absl::Duration span) {
  const int64_t seconds = absl::ToInt64Seconds(span);
  if (absl::Seconds(seconds) == span) return seconds;
  return absl::FormatDuration(span);
}

// Formats integral numbers as integers: 4, not 4.0.
Value Number(double number) {
  const auto whole = static_cast<int64_t>(std::clamp(number, -1e15, 1e15));
  if (static_cast<double>(whole) == number) return whole;
  return number;
}

Value Ids(const std::vector<int>& slots) {
  Value::List list;
  for (const int id : slots) list.emplace_back(id);
  return list;
}

Value On(const std::vector<model::Placement>& placements) {
  Value::List list;
  for (const model::Placement& p : placements) {
    list.emplace_back(Value::Object{{"agent", p.agent.value()}, {"slots", Ids(p.slots)}});
  }
  return list;
}

void AddSettings(const model::ResourcePool& pool, Value::Object& out) {
  out["policy"] = Text(model::ToString(pool.policy));
  out["fit"] = Text(model::ToString(pool.fitting));
  out["preemption"] = pool.preemption;
  out["heterogeneous"] = pool.heterogeneous;
  out["backfill"] = pool.backfill;
  out["hold_after"] = Span(pool.hold_after);
  out["maintenance_lead"] = Span(pool.maintenance_lead);
  out["max_aux_per_agent"] = pool.max_aux_per_agent;
  out["shared_devices"] = pool.shared_devices;
  out["default_priority"] = pool.default_priority;
}

Value ToValue(const model::ResourcePool& pool) {
  Value::Object out = {{"name", pool.name}};
  AddSettings(pool, out);
  if (!pool.description.empty()) out["description"] = pool.description;
  if (!pool.workspaces.empty()) {
    out["workspaces"] = Value::List(pool.workspaces.begin(), pool.workspaces.end());
  }
  return out;
}

bool IsPlain(const Slot& slot) { return slot == Slot{.id = slot.id}; }

// A number for n plain slots 0 to n-1, otherwise a list of ids or of objects.
Value ToValue(const std::vector<Slot>& slots) {
  bool numbered = true;
  bool plain = true;
  for (size_t i = 0; i < slots.size(); ++i) {
    plain = plain && IsPlain(slots[i]);
    numbered = numbered && slots[i].id == static_cast<int>(i);
  }
  if (plain && numbered) return static_cast<int64_t>(slots.size());
  Value::List list;
  for (const Slot& slot : slots) {
    if (plain) {
      list.emplace_back(slot.id);
      continue;
    }
    Value::Object out = {{"id", slot.id}, {"type", Text(ToName(slot.type))}};
    if (!slot.model.empty()) out["model"] = slot.model;
    if (slot.island != 0) out["island"] = slot.island;
    if (!slot.enabled) out["enabled"] = false;
    list.emplace_back(std::move(out));
  }
  return list;
}

Value ToValue(const Node& node) {
  Value::Object out = {{"id", node.id.value()},        {"pool", node.resource_pool},
                       {"slots", ToValue(node.slots)}, {"aux", node.aux},
                       {"enabled", node.accepts_work}, {"draining", false}};
  if (node.cpus) out["cpus"] = Number(*node.cpus);
  if (node.memory) out["memory"] = *node.memory;
  if (!node.network_switch.empty()) out["switch"] = node.network_switch;
  if (!node.labels.empty()) {
    out["labels"] = Value::Object(node.labels.begin(), node.labels.end());
  }
  Value::List windows;
  for (const model::Maintenance& window : node.maintenance) {
    windows.emplace_back(Value::Object{
        {"begin", Time(window.begin)}, {"end", Time(window.end)}, {"note", window.note}});
  }
  if (!windows.empty()) out["maintenance"] = std::move(windows);
  return out;
}

Value ToValue(const Job& job) {
  Value::Object out = {{"id", job.id.value()},
                       {"priority", job.priority},
                       {"weight", Number(job.weight)},
                       {"workspace", job.workspace},
                       {"user", job.user}};
  // A position that is present counts as set by a user.
  if (job.position_set || job.position != 0) out["position"] = Number(job.position);
  if (!job.position_set && job.position != 0) out["position_set"] = false;
  if (job.max_slots) out["max_slots"] = Number(*job.max_slots);
  if (job.max_gangs) out["max_gangs"] = *job.max_gangs;
  return out;
}

Value ToValue(const Gang& gang, absl::Time now) {
  const Gang standard;
  Value::Object out = {{"id", gang.id.value()},
                       {"job", gang.job.value()},
                       {"pool", gang.resource_pool},
                       {"slots", gang.fraction < 1 ? Value(gang.fraction) : Value(gang.slots)},
                       {"submitted", gang.submitted},
                       {"preemptible", gang.preemptible},
                       {"single_agent", gang.single_node}};
  if (gang.max_slots != 0) out["max_slots"] = gang.max_slots;
  if (gang.cpus != 0) out["cpus"] = Number(gang.cpus);
  if (gang.memory != 0) out["memory"] = gang.memory;
  if (gang.slot_type) out["slot_type"] = Text(ToName(*gang.slot_type));
  if (!gang.device.empty()) out["device"] = gang.device;
  Value::List blocked;
  for (const model::AgentId& id : gang.blocked) blocked.emplace_back(id.value());
  if (!blocked.empty()) out["blocked"] = std::move(blocked);
  if (gang.max_run_time != standard.max_run_time) out["max_run_time"] = Span(gang.max_run_time);
  if (gang.queued_at != now) out["queued_at"] = Time(gang.queued_at);
  if (!gang.running_on.empty()) out["running"] = On(gang.running_on);
  const absl::Time started = gang.running_on.empty() ? standard.started_at : now;
  if (gang.started_at != started) out["started"] = Time(gang.started_at);
  if (gang.saved_at != gang.started_at) out["saved"] = Time(gang.saved_at);
  if (gang.terminating) out["leaving"] = true;
  return out;
}

Value ToValue(const Limit& limit) {
  Value::Object out = {{"scope", Text(ToName(limit.quota.scope))},
                       {"name", limit.quota.name},
                       {"slot_hours_used", Number(limit.slot_hours_used)}};
  if (limit.quota.max_slots) out["max_slots"] = Number(*limit.quota.max_slots);
  if (limit.quota.slot_hours) out["slot_hours"] = Number(*limit.quota.slot_hours);
  return out;
}

// The outermost settings are those of pools that are not listed. If all are listed, they repeat the
// default pool or the first one.
model::ResourcePool Outermost(const Snapshot& snapshot) {
  std::map<std::string, const model::ResourcePool*> listed;
  for (const model::ResourcePool& pool : snapshot.pools) listed.emplace(pool.name, &pool);
  const auto is_listed = [&](const auto& of) { return listed.contains(of.resource_pool); };
  const bool all = std::all_of(snapshot.nodes.begin(), snapshot.nodes.end(), is_listed) &&
                   std::all_of(snapshot.gangs.begin(), snapshot.gangs.end(), is_listed);
  if (!all || listed.empty()) return model::ResourcePool();
  const auto standard = listed.find(kDefaultPool);
  return standard == listed.end() ? snapshot.pools.front() : *standard->second;
}

// Formats a document with a line for each member, or for each element of a member.
class Lines {
 public:
  void Add(std::string_view key, const Value& value) {
    members_.push_back(absl::StrCat("  ", Value(std::string(key)).ToJson(), ": ", value.ToJson()));
  }
  void AddList(std::string_view key, const std::vector<Value>& items) {
    std::vector<std::string> lines;
    for (const Value& item : items) lines.push_back(absl::StrCat("    ", item.ToJson()));
    AddBlock(key, lines, "[", "]");
  }
  void AddObject(std::string_view key, const Value::Object& object) {
    std::vector<std::string> lines;
    for (const auto& [name, value] : object) {
      lines.push_back(absl::StrCat("    ", Value(name).ToJson(), ": ", value.ToJson()));
    }
    AddBlock(key, lines, "{", "}");
  }
  std::string Text() const { return absl::StrCat("{\n", absl::StrJoin(members_, ",\n"), "\n}\n"); }

 private:
  void AddBlock(std::string_view key, const std::vector<std::string>& lines, const char* open,
                const char* close) {
    members_.push_back(absl::StrCat("  ", Value(std::string(key)).ToJson(), ": ", open,
                                    lines.empty() ? "" : "\n", absl::StrJoin(lines, ",\n"),
                                    lines.empty() ? "" : "\n  ", close));
  }

  std::vector<std::string> members_;
};

template <class T, class Write>
std::vector<Value> ToValues(const std::vector<T>& items, Write write) {
  std::vector<Value> values;
  for (const T& item : items) values.push_back(write(item));
  return values;
}

}  // namespace

std::string ToJson(const Snapshot& snapshot) {
  const auto write = [](const auto& item) { return ToValue(item); };
  Lines out;
  out.Add("now", Time(snapshot.now));
  Value::Object settings;
  AddSettings(Outermost(snapshot), settings);
  for (const auto& [key, value] : settings) out.Add(key, value);
  out.AddList("pools", ToValues(snapshot.pools, write));
  out.AddList("agents", ToValues(snapshot.nodes, write));
  out.AddList("jobs", ToValues(snapshot.jobs, write));
  out.AddList("gangs", ToValues(snapshot.gangs,
                                [&](const Gang& gang) { return ToValue(gang, snapshot.now); }));
  out.AddList("limits", ToValues(snapshot.limits, write));
  return out.Text();
}

std::string ToJson(const Scheduled& scheduled,
                   const std::map<model::AllocationId, std::string>& started) {
  Value::Object assign, waiting, reasons;
  for (const Assignment& a : scheduled.plan.assign) assign[a.gang.value()] = On(a.on);
  for (const auto& [id, words] : started) reasons[id.value()] = words;
  for (const auto& [id, reason] : scheduled.waiting) {
    waiting[id.value()] = Text(ToString(reason.kind));
    reasons[id.value()] = reason.text;
  }
  std::vector<Value> preempt;
  for (const Preemption& p : scheduled.plan.preempt) {
    preempt.emplace_back(p.victim.value());
    reasons[p.victim.value()] = p.reason;
  }
  Lines out;
  out.AddObject("assign", assign);
  out.AddList("preempt", preempt);
  out.AddObject("waiting", waiting);
  out.AddObject("reasons", reasons);
  if (scheduled.plan.look_again) out.Add("look_again", Time(*scheduled.plan.look_again));
  return out.Text();
}

}  // namespace det::scheduler
