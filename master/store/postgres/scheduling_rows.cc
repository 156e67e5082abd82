#include "master/store/postgres/scheduling_rows.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/postgres/agent_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

using model::Value;
using Scope = model::Quota::Scope;
using Statement = Connection::Statement;

constexpr char kPutPool[] = R"sql(
INSERT INTO resource_pools (name, description, policy, fitting, preemption, heterogeneous, backfill,
  hold_after, default_priority, max_aux_per_agent, shared_devices, workspaces, maintenance_lead)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13)
ON CONFLICT (name) DO UPDATE SET description = excluded.description, policy = excluded.policy,
  fitting = excluded.fitting, preemption = excluded.preemption,
  heterogeneous = excluded.heterogeneous, backfill = excluded.backfill,
  hold_after = excluded.hold_after, default_priority = excluded.default_priority,
  max_aux_per_agent = excluded.max_aux_per_agent, shared_devices = excluded.shared_devices,
  workspaces = excluded.workspaces, maintenance_lead = excluded.maintenance_lead)sql";
constexpr char kDropPool[] = "DELETE FROM resource_pools WHERE name = $1";
constexpr char kPutDefaults[] = R"sql(
INSERT INTO default_pools (compute, aux) VALUES ($1,$2)
ON CONFLICT (one) DO UPDATE SET compute = excluded.compute, aux = excluded.aux)sql";

constexpr char kPutQuota[] = R"sql(
INSERT INTO quotas (scope, name, max_slots, slot_hours) VALUES ($1,$2,$3,$4)
ON CONFLICT (scope, name) DO UPDATE SET max_slots = excluded.max_slots,
  slot_hours = excluded.slot_hours)sql";
constexpr char kDropQuota[] = "DELETE FROM quotas WHERE scope = $1 AND name = $2";

constexpr char kSelectPools[] =
    "SELECT name, description, policy, fitting, preemption, heterogeneous, backfill, hold_after, "
    "default_priority, max_aux_per_agent, shared_devices, workspaces, maintenance_lead "
    "FROM resource_pools ORDER BY name";
// Quotas of users before those of workspaces, in the order of Scope.
constexpr char kSelectQuotas[] =
    "SELECT scope, name, max_slots, slot_hours FROM quotas ORDER BY scope, name";
constexpr char kSelectMonth[] =
    "SELECT micros(coalesce(date_trunc('month', greatest("
    "(SELECT max(ended_at) FROM allocations WHERE isfinite(ended_at)), "
    "(SELECT max(ended_at) FROM deleted_usage)), 'UTC'), 'epoch'))";
constexpr char kSelectUsage[] = R"sql(
WITH month AS (SELECT to_timestamp($1::numeric / 1000000) AS begin),
used AS (
  SELECT a.job, sum(a.granted * a.fraction * extract(epoch FROM
      a.ended_at - greatest(a.started_at, m.begin))::double precision) AS seconds
  FROM allocations a, month m
  WHERE a.ended_at > m.begin AND isfinite(a.ended_at) AND isfinite(a.started_at) AND a.granted > 0
  GROUP BY a.job)
SELECT coalesce(nullif(e.owner_name, ''), e.owner::text), coalesce(w.name, ''), sum(u.seconds)
FROM used u JOIN experiments e ON e.job = u.job LEFT JOIN projects p ON p.id = e.project
LEFT JOIN workspaces w ON w.id = p.workspace GROUP BY 1, 2
UNION ALL
SELECT coalesce(nullif(k.owner_name, ''), k.owner::text), coalesce(w.name, ''), sum(u.seconds)
FROM used u JOIN tasks k ON k.id = u.job LEFT JOIN workspaces w ON w.id = k.workspace GROUP BY 1, 2
UNION ALL
SELECT d.owner, d.workspace, sum(d.slots * extract(epoch FROM
  d.ended_at - greatest(d.began_at, m.begin))::double precision)
FROM deleted_usage d, month m WHERE d.ended_at > m.begin GROUP BY 1, 2
ORDER BY 1, 2)sql";

std::string Text(Scope scope) { return scope == Scope::kUser ? "user" : "workspace"; }

absl::StatusOr<model::ResourcePool> ToPool(const Result& result, int row) {
  model::ResourcePool pool;
  pool.name = std::string(result.Text(row, 0));
  pool.description = std::string(result.Text(row, 1));
  const auto policy = model::ParseSchedulingPolicy(result.Text(row, 2));
  const auto fitting = model::ParseFittingPolicy(result.Text(row, 3));
  if (!policy || !fitting) {
    return absl::InternalError(
        absl::StrCat("the database contains an unknown policy of resource pool ", pool.name));
  }
  pool.policy = *policy;
  pool.fitting = *fitting;
  pool.preemption = result.Bool(row, 4);
  pool.heterogeneous = result.Bool(row, 5);
  pool.backfill = result.Bool(row, 6);
  pool.hold_after = absl::Microseconds(result.Int(row, 7));
  pool.default_priority = static_cast<int>(result.Int(row, 8));
  pool.max_aux_per_agent = static_cast<int>(result.Int(row, 9));
  pool.shared_devices = result.Bool(row, 10);
  pool.maintenance_lead = absl::Microseconds(result.Int(row, 12));
  const absl::StatusOr<Value> workspaces = ToValue(result, row, 11);
  DET_RETURN_IF_ERROR(workspaces.status());
  if (workspaces->AsList() != nullptr) {
    for (const Value& name : *workspaces->AsList()) {
      if (name.AsString() != nullptr) pool.workspaces.push_back(*name.AsString());
    }
  }
  return pool;
}

absl::Status AddUsage(Connection& connection, cluster::Usage& usage) {
  DET_ASSIGN_OR_RETURN(const Result month, connection.Exec(kSelectMonth));
  usage.month = month.Time(0, 0);
  DET_ASSIGN_OR_RETURN(const Result used,
                       connection.Exec(kSelectUsage, MakeParams(month.Text(0, 0))));
  for (int row = 0; row < used.rows(); ++row) {
    usage.users[std::string(used.Text(row, 0))] += used.Double(row, 2);
    usage.workspaces[std::string(used.Text(row, 1))] += used.Double(row, 2);
  }
  return absl::OkStatus();
}

}  // namespace

Statement Put(const model::ResourcePool& pool) {
  Value::List workspaces;
  for (const std::string& name : pool.workspaces) workspaces.emplace_back(name);
  return {kPutPool,
          MakeParams(pool.name, pool.description, model::ToString(pool.policy),
                     model::ToString(pool.fitting), pool.preemption, pool.heterogeneous,
                     pool.backfill, pool.hold_after, pool.default_priority, pool.max_aux_per_agent,
                     pool.shared_devices, Value(std::move(workspaces)), pool.maintenance_lead)};
}

Statement Drop(const cluster::DropPool& drop) { return {kDropPool, MakeParams(drop.name)}; }

Statement Put(const cluster::PutDefaultPools& put) {
  return {kPutDefaults, MakeParams(put.compute, put.aux)};
}

Statement Put(const model::Quota& quota) {
  return {kPutQuota, MakeParams(Text(quota.scope), quota.name, quota.max_slots, quota.slot_hours)};
}

Statement Drop(const cluster::DropQuota& drop) {
  return {kDropQuota, MakeParams(Text(drop.scope), drop.name)};
}

absl::Status AddScheduling(Connection& connection, cluster::Image& image) {
  DET_RETURN_IF_ERROR(AddAgents(connection, image));
  DET_ASSIGN_OR_RETURN(const Result pools, connection.Exec(kSelectPools));
  for (int row = 0; row < pools.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(image.pools.emplace_back(), ToPool(pools, row));
  }
  DET_ASSIGN_OR_RETURN(const Result defaults,
                       connection.Exec("SELECT compute, aux FROM default_pools"));
  if (defaults.rows() > 0) {
    const auto text = [&](int column) -> std::optional<std::string> {
      if (defaults.IsNull(0, column)) return std::nullopt;
      return std::string(defaults.Text(0, column));
    };
    image.default_pools = {text(0), text(1)};
  }
  DET_ASSIGN_OR_RETURN(const Result quotas, connection.Exec(kSelectQuotas));
  for (int row = 0; row < quotas.rows(); ++row) {
    const bool user = quotas.Text(row, 0) == "user";
    image.quotas.push_back({.scope = user ? Scope::kUser : Scope::kWorkspace,
                            .name = std::string(quotas.Text(row, 1)),
                            .max_slots = quotas.Maybe(&Result::Double, row, 2),
                            .slot_hours = quotas.Maybe(&Result::Double, row, 3)});
  }
  return AddUsage(connection, image.usage);
}

}  // namespace det::store
