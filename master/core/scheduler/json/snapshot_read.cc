// Parses a Snapshot from JSON in two passes: each list, then the references between them.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/scheduler/json/format.h"
#include "master/core/scheduler/json/members.h"
#include "master/core/scheduler/json/running.h"
#include "master/core/scheduler/json/snapshot_json.h"

namespace det::scheduler {
namespace {

using model::Value;

constexpr int kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

// Members of a gang that are resolved once everything is read.
struct GangNotes {
  std::string path;
  std::optional<int> priority;
  bool has_job = false;
  bool submitted_is_time = false;
  std::optional<double> submitted;  // as in the text
};

class Reader {
 public:
  absl::StatusOr<Snapshot> Read(const Value& root) {
    Members m(root, "", &problems_);
    snapshot_.now = absl::Time();
    m.ReadTime("now", &snapshot_.now);
    ReadSettings(m, others_);
    m.ForEach("pools", [&](const Value& v, const std::string& path) { ReadPool(v, path); });
    m.ForEach("agents", [&](const Value& v, const std::string& path) { ReadAgent(v, path); });
    m.ForEach("jobs", [&](const Value& v, const std::string& path) { ReadJob(v, path); });
    m.ForEach("gangs", [&](const Value& v, const std::string& path) { ReadGang(v, path); });
    m.ForEach("limits", [&](const Value& v, const std::string& path) { ReadLimit(v, path); });
    m.RejectUnknownMembers();
    AddPools();
    AddJobs();
    NumberSubmissions();
    PlaceRunning(snapshot_.nodes, running_, snapshot_.gangs, &problems_);
    DET_RETURN_IF_ERROR(problems_.ToStatus());
    return std::move(snapshot_);
  }

 private:
  // Reads the id of an element, which is required and must be unique.
  std::string ReadId(Members& m, std::string_view key, std::set<std::string>& taken) {
    std::string id;
    if (!m.Read(key, &id)) {
      if (m.is_object() && m.Find(key) == nullptr) m.Complain(key, "is missing");
    } else if (id.empty()) {
      m.Complain(key, "is empty");
    } else if (!taken.insert(id).second) {
      m.Complain(key, absl::StrCat("duplicate id \"", id, "\""));
    }
    return id;
  }

  static void ReadSettings(Members& m, model::ResourcePool& pool) {
    m.ReadName("policy", model::ParseSchedulingPolicy, "priority, fair_share or fifo",
               &pool.policy);
    m.ReadName("fit", model::ParseFittingPolicy, "best or worst", &pool.fitting);
    m.Read("preemption", &pool.preemption);
    m.Read("heterogeneous", &pool.heterogeneous);
    m.Read("backfill", &pool.backfill);
    m.ReadDuration("hold_after", &pool.hold_after);
    m.ReadDuration("maintenance_lead", &pool.maintenance_lead);
    m.ReadInt("max_aux_per_agent", 0, kMaxInt, &pool.max_aux_per_agent);
    m.Read("shared_devices", &pool.shared_devices);
    m.ReadInt("default_priority", 1, 99, &pool.default_priority);
  }

  void ReadPool(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    model::ResourcePool pool;
    pool.name = ReadId(m, "name", pool_names_);
    m.Read("description", &pool.description);
    ReadSettings(m, pool);
    m.ReadStrings("workspaces", &pool.workspaces);
    m.RejectUnknownMembers();
    snapshot_.pools.push_back(std::move(pool));
  }

  const model::ResourcePool& GetSettings(const std::string& name) const {
    for (const model::ResourcePool& pool : snapshot_.pools) {
      if (pool.name == name) return pool;
    }
    return others_;
  }

  void ReadAgent(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    Node node;
    node.id = model::AgentId(ReadId(m, "id", agent_ids_));
    node.resource_pool = kDefaultPool;
    m.Read("pool", &node.resource_pool);
    node.aux = GetSettings(node.resource_pool).max_aux_per_agent;
    m.ReadInt("aux", 0, kMaxInt, &node.aux);
    bool enabled = true;
    bool draining = false;
    m.Read("enabled", &enabled);
    m.Read("draining", &draining);
    node.accepts_work = enabled && !draining;
    m.ReadStrings("labels", &node.labels);
    double cpus = 0;
    if (m.ReadNumber("cpus", 0, &cpus)) node.cpus = cpus;
    int64_t memory = 0;
    if (m.ReadInt("memory", int64_t{0}, kMaxInt64, &memory)) node.memory = memory;
    m.Read("switch", &node.network_switch);
    m.ForEach("maintenance", [&](const Value& v, const std::string& at) {
      node.maintenance.push_back(ReadMaintenance(v, at));
    });
    ReadSlots(m, node);
    m.RejectUnknownMembers();
    snapshot_.nodes.push_back(std::move(node));
  }

  model::Maintenance ReadMaintenance(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    model::Maintenance window;
    const bool whole = m.ReadTime("begin", &window.begin) && m.ReadTime("end", &window.end);
    if (m.is_object() && (m.Find("begin") == nullptr || m.Find("end") == nullptr)) {
      problems_.Add(path, "needs begin and end");
    } else if (whole && window.end <= window.begin) {
      m.Complain("end", "is not after begin");
    }
    m.Read("note", &window.note);
    m.RejectUnknownMembers();
    return window;
  }

  // A number of slots, or a list of ids and of objects.
  void ReadSlots(Members& m, Node& node) {
    const Value* slots = m.Find("slots");
    if (slots == nullptr) return;
    if (slots->AsList() == nullptr) {
      int count = 0;
      m.ReadInt("slots", 0, kMaxSlots, &count);
      for (int i = 0; i < count; ++i) node.slots.push_back({.id = i});
      return;
    }
    std::set<int> taken;
    m.ForEach("slots", [&](const Value& value, const std::string& path) {
      Slot slot;
      if (const auto id = ParseInt(value); id && *id >= 0 && *id <= kMaxInt) {
        slot.id = static_cast<int>(*id);
      } else {
        Members of(value, path, &problems_);
        if (value.AsObject() == nullptr) return;
        of.ReadInt("id", 0, kMaxInt, &slot.id);
        if (of.Find("id") == nullptr) of.Complain("id", "is missing");
        of.ReadName("type", ParseDeviceType, "cpu, cuda, rocm or tpu", &slot.type);
        of.Read("model", &slot.model);
        of.ReadInt("island", 0, kMaxInt, &slot.island);
        of.Read("enabled", &slot.enabled);
        of.RejectUnknownMembers();
      }
      if (!taken.insert(slot.id).second) {
        problems_.Add(path, absl::StrCat("duplicate slot ", slot.id));
      }
      node.slots.push_back(std::move(slot));
    });
  }

  void ReadJob(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    Job job;
    job.id = model::JobId(ReadId(m, "id", job_ids_));
    m.ReadInt("priority", 1, 99, &job.priority);
    if (m.ReadNumber("weight", 0, &job.weight) && job.weight == 0) {
      m.Complain("weight", "must be greater than 0");
    }
    constexpr double kAny = -std::numeric_limits<double>::infinity();
    job.position_set = m.ReadNumber("position", kAny, &job.position);
    m.Read("position_set", &job.position_set);
    double slots = 0;
    if (m.ReadNumber("max_slots", 0, &slots)) job.max_slots = slots;
    int64_t gangs = 0;
    if (m.ReadInt("max_gangs", int64_t{0}, kMaxInt64, &gangs)) job.max_gangs = gangs;
    m.Read("workspace", &job.workspace);
    m.Read("user", &job.user);
    m.RejectUnknownMembers();
    snapshot_.jobs.push_back(std::move(job));
  }

  void ReadGang(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    Gang gang;
    GangNotes notes{.path = path};
    gang.id = model::AllocationId(ReadId(m, "id", gang_ids_));
    std::string job = absl::StrCat("gang:", gang.id.value());
    notes.has_job = m.Read("job", &job);
    gang.job = model::JobId(std::move(job));
    int priority = 0;
    if (m.ReadInt("priority", 1, 99, &priority)) notes.priority = priority;
    gang.resource_pool = kDefaultPool;
    m.Read("pool", &gang.resource_pool);
    ReadRequest(m, gang);
    m.Read("single_agent", &gang.single_node);
    m.Read("preemptible", &gang.preemptible);
    std::vector<std::string> blocked;
    m.ReadStrings("blocked", &blocked);
    for (std::string& agent : blocked) gang.blocked.emplace_back(std::move(agent));
    ReadSubmitted(m, notes);
    m.ReadDuration("max_run_time", &gang.max_run_time);
    std::vector<RunningPart> running;
    m.ForEach("running", [&](const Value& v, const std::string& at) {
      running.push_back(ReadRunning(v, at));
    });
    gang.queued_at = snapshot_.now;
    m.ReadTime("queued_at", &gang.queued_at);
    if (!running.empty()) gang.started_at = snapshot_.now;
    m.ReadTime("started", &gang.started_at);
    gang.saved_at = gang.started_at;
    m.ReadTime("saved", &gang.saved_at);
    m.Read("leaving", &gang.terminating);
    m.RejectUnknownMembers();
    snapshot_.gangs.push_back(std::move(gang));
    notes_.push_back(std::move(notes));
    running_.push_back(std::move(running));
  }

  // The requested resources.
  void ReadRequest(Members& m, Gang& gang) {
    const Value* slots = m.Find("slots");
    const double* part = slots == nullptr ? nullptr : slots->AsDouble();
    if (part != nullptr && *part > 0 && *part < 1) {
      gang.fraction = *part;
    } else {
      m.ReadInt("slots", 0, kMaxInt, &gang.slots);
    }
    if (m.ReadNumber("fraction", 0, &gang.fraction) && (gang.fraction == 0 || gang.fraction > 1)) {
      m.Complain("fraction", "must be greater than 0 and at most 1");
    }
    if (gang.fraction < 1 && gang.slots != 1) {
      m.Complain("fraction", "is only valid for gangs of one slot");
    }
    m.ReadInt("max_slots", 0, kMaxInt, &gang.max_slots);
    if (gang.max_slots != 0 && gang.max_slots < gang.slots) {
      m.Complain("max_slots", "is less than slots");
    }
    m.ReadNumber("cpus", 0, &gang.cpus);
    m.ReadInt("memory", int64_t{0}, kMaxInt64, &gang.memory);
    m.Read("device", &gang.device);
    model::DeviceType type;
    if (m.ReadName("slot_type", ParseDeviceType, "cpu, cuda, rocm or tpu", &type))
      gang.slot_type = type;
  }

  static void ReadSubmitted(Members& m, GangNotes& notes) {
    const Value* value = m.Find("submitted");
    if (value == nullptr) return;
    if (const auto number = value->AsNumber()) {
      notes.submitted = *number;
      return;
    }
    absl::Time time;
    if (!m.ReadTime("submitted", &time)) return;
    notes.submitted_is_time = true;
    notes.submitted = static_cast<double>(absl::ToUnixMicros(time));
  }

  RunningPart ReadRunning(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    RunningPart part{.path = path};
    std::string agent;
    if (!m.Read("agent", &agent) && m.is_object() && m.Find("agent") == nullptr) {
      m.Complain("agent", "is missing");
    }
    part.agent = model::AgentId(std::move(agent));
    const Value* slots = m.Find("slots");
    if (slots != nullptr && slots->AsList() == nullptr) {
      m.ReadInt("slots", 0, kMaxInt, &part.count);
    } else {
      m.ForEach("slots", [&](const Value& slot, const std::string& at) {
        const auto id = ParseInt(slot);
        if (id && *id >= 0 && *id <= kMaxInt) {
          part.slots.push_back(static_cast<int>(*id));
        } else {
          problems_.Add(at, absl::StrCat("expected the id of a slot, found ", Describe(slot)));
        }
      });
    }
    m.RejectUnknownMembers();
    return part;
  }

  void ReadLimit(const Value& value, const std::string& path) {
    Members m(value, path, &problems_);
    Limit limit;
    m.ReadName("scope", ParseScope, "user or workspace", &limit.quota.scope);
    m.Read("name", &limit.quota.name);
    if (m.is_object() && (m.Find("scope") == nullptr || limit.quota.name.empty())) {
      problems_.Add(path, "needs scope (user or workspace) and name");
    } else if (!limits_.emplace(limit.quota.scope, limit.quota.name).second) {
      problems_.Add(path, absl::StrCat("duplicate limit of \"", limit.quota.name, "\""));
    }
    double number = 0;
    if (m.ReadNumber("max_slots", 0, &number)) limit.quota.max_slots = number;
    if (m.ReadNumber("slot_hours", 0, &number)) limit.quota.slot_hours = number;
    m.ReadNumber("slot_hours_used", 0, &limit.slot_hours_used);
    m.RejectUnknownMembers();
    snapshot_.limits.push_back(std::move(limit));
  }

  // Pools that only agents and gangs name get the outermost settings.
  void AddPools() {
    if (others_ == model::ResourcePool()) return;
    std::set<std::string> named;
    for (const Node& node : snapshot_.nodes) named.insert(node.resource_pool);
    for (const Gang& gang : snapshot_.gangs) named.insert(gang.resource_pool);
    for (const std::string& name : named) {
      if (pool_names_.contains(name)) continue;
      snapshot_.pools.push_back(others_);
      snapshot_.pools.back().name = name;
    }
  }

  // The `priority` of a gang applies to a job that only it names.
  void AddJobs() {
    std::map<model::JobId, int> made;
    for (size_t i = 0; i < notes_.size(); ++i) {
      const Gang& gang = snapshot_.gangs[i];
      const GangNotes& notes = notes_[i];
      if (!notes.priority) continue;
      const std::string path = absl::StrCat(notes.path, ".priority");
      if (job_ids_.contains(gang.job.value())) {
        problems_.Add(path, absl::StrCat("belongs to its job \"", gang.job.value(),
                                         "\", which is listed under jobs"));
        continue;
      }
      const auto [it, added] = made.emplace(gang.job, *notes.priority);
      if (added) {
        snapshot_.jobs.push_back({.id = gang.job, .priority = *notes.priority});
      } else if (it->second != *notes.priority) {
        problems_.Add(
            path, absl::StrCat("another gang of job \"", gang.job.value(), "\" has ", it->second));
      }
    }
  }

  // `submitted` is an order: if some are fractions of seconds, all are converted to millionths.
  void NumberSubmissions() {
    bool parts = false;
    bool numbers = false;
    bool times = false;
    for (const GangNotes& notes : notes_) {
      if (!notes.submitted) continue;
      (notes.submitted_is_time ? times : numbers) = true;
      parts = parts || *notes.submitted != static_cast<double>(ToInt(*notes.submitted));
    }
    if (numbers && times)
      problems_.Add("gangs", "submitted must be a time in all gangs or a number in all gangs");
    for (size_t i = 0; i < notes_.size(); ++i) {
      if (!notes_[i].submitted) continue;
      snapshot_.gangs[i].submitted = ToInt(*notes_[i].submitted * (parts ? 1e6 : 1));
    }
  }

  static int64_t ToInt(double number) {
    return static_cast<int64_t>(std::clamp(number, -9e18, 9e18));
  }

  static constexpr int kMaxSlots = 1 << 16;  // of one agent, to detect mistakes

  Problems problems_;
  Snapshot snapshot_;
  model::ResourcePool others_;  // settings of pools that are not listed
  std::set<std::string> pool_names_, agent_ids_, job_ids_, gang_ids_;
  std::set<std::pair<model::Quota::Scope, std::string>> limits_;
  std::vector<GangNotes> notes_;                   // in the order of the gangs
  std::vector<std::vector<RunningPart>> running_;  // in the order of the gangs
};

}  // namespace

absl::StatusOr<Snapshot> ParseSnapshot(std::string_view json) {
  DET_ASSIGN_OR_RETURN(const Value root, Value::FromJson(json));
  return Reader().Read(root);
}

}  // namespace det::scheduler
