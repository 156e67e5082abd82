#include "master/store/postgres/sql_governance.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/model/value.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

constexpr char kAddAudit[] = R"sql(
INSERT INTO audit (at, user_id, caller, access_token, peer, method, target, request_id, code)
SELECT * FROM unnest($1::timestamptz[], $2::int[], $3::text[], $4::int[], $5::text[], $6::text[],
                     $7::text[], $8::text[], $9::text[]))sql";
#define DET_AUDIT_FOUND                                                                   \
  " FROM audit WHERE ($1::int IS NULL OR user_id = $1::int) AND starts_with(method, $2) " \
  "AND ($3::timestamptz IS NULL OR at >= $3::timestamptz) "                               \
  "AND ($4::timestamptz IS NULL OR at < $4::timestamptz) AND ($5::bigint = 0 OR id < $5::bigint)"
constexpr char kListAudit[] =
    "SELECT id, micros(at), user_id, caller, access_token, peer, method, target, request_id, "
    "code" DET_AUDIT_FOUND " ORDER BY id DESC LIMIT nullif($6::bigint, 0) OFFSET $7::bigint";
constexpr char kCountAudit[] = "SELECT count(*)" DET_AUDIT_FOUND;
#undef DET_AUDIT_FOUND

// The response is hexadecimal, because the other columns are read as text.
constexpr char kGetResponse[] =
    "SELECT method, request, micros(at), code, message, encode(response, 'hex') FROM answers "
    "WHERE user_id = $1 AND key = $2 AND at >= $3";
constexpr char kPutResponse[] = R"sql(
INSERT INTO answers (user_id, key, method, request, at, code, message, response)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (user_id, key) DO UPDATE SET method = excluded.method, request = excluded.request,
  at = excluded.at, code = excluded.code, message = excluded.message,
  response = excluded.response)sql";

constexpr char kSetMessage[] = R"sql(
INSERT INTO cluster_message (text, starts_at, ends_at, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (one) DO UPDATE SET text = excluded.text, starts_at = excluded.starts_at,
  ends_at = excluded.ends_at, created_at = excluded.created_at)sql";

constexpr char kListUsage[] = R"sql(
SELECT t.experiment, e.owner, coalesce(nullif(e.owner_name, ''), e.owner::text),
  coalesce(w.id, 0), coalesce(w.name, ''), e.labels, a.resource_pool, a.granted * a.fraction,
  micros(a.started_at), micros(a.ended_at), a.id, 'TRIAL'
FROM allocations a JOIN trials t ON t.id = a.trial JOIN experiments e ON e.id = t.experiment
LEFT JOIN projects p ON p.id = e.project
LEFT JOIN workspaces w ON w.id = coalesce(a.workspace, p.workspace)
WHERE a.started_at < $2 AND (a.ended_at IS NULL OR a.ended_at > $1)
UNION ALL
SELECT 0, k.owner, coalesce(nullif(k.owner_name, ''), k.owner::text),
  coalesce(w.id, 0), coalesce(w.name, ''), '[]'::jsonb, a.resource_pool, a.granted * a.fraction,
  micros(a.started_at), micros(a.ended_at), a.id, k.kind
FROM allocations a JOIN tasks k ON k.id = a.task
LEFT JOIN workspaces w ON w.id = coalesce(a.workspace, k.workspace)
WHERE a.started_at < $2 AND (a.ended_at IS NULL OR a.ended_at > $1)
UNION ALL
SELECT d.experiment, 0, d.owner, 0, d.workspace, '[]'::jsonb, d.resource_pool, d.slots,
  micros(d.began_at), micros(d.ended_at), d.allocation, 'TRIAL'
FROM deleted_usage d WHERE d.began_at < $2 AND d.ended_at > $1
ORDER BY 9, 1)sql";

constexpr char kListCapacity[] = R"sql(
SELECT agent, resource_pool, slots, micros(at), micros(until) FROM (
  SELECT *, lead(at) OVER (PARTITION BY agent ORDER BY at) AS until FROM capacity WHERE at < $2) c
WHERE slots > 0 AND (until IS NULL OR until > $1) ORDER BY at, agent)sql";

AuditRecord ToAudit(const Result& result, int row) {
  AuditRecord record;
  record.id = result.Int(row, 0);
  record.at = result.Time(row, 1);
  if (!result.IsNull(row, 2)) record.user.emplace(static_cast<int32_t>(result.Int(row, 2)));
  record.caller = std::string(result.Text(row, 3));
  record.access_token = static_cast<int32_t>(result.Int(row, 4));
  record.peer = std::string(result.Text(row, 5));
  record.method = std::string(result.Text(row, 6));
  record.target = std::string(result.Text(row, 7));
  record.request_id = std::string(result.Text(row, 8));
  record.code = std::string(result.Text(row, 9));
  return record;
}

absl::StatusOr<UsageRecord> ToUsage(const Result& result, int row) {
  UsageRecord record;
  record.experiment = model::ExperimentId(static_cast<int32_t>(result.Int(row, 0)));
  record.user = model::UserId(static_cast<int32_t>(result.Int(row, 1)));
  record.username = std::string(result.Text(row, 2));
  record.workspace_id = static_cast<int32_t>(result.Int(row, 3));
  record.workspace = std::string(result.Text(row, 4));
  const absl::StatusOr<model::Value> labels = ToValue(result, row, 5);
  DET_RETURN_IF_ERROR(labels.status());
  if (labels->AsList() != nullptr) {
    for (const model::Value& label : *labels->AsList()) {
      if (label.AsString() != nullptr) record.labels.push_back(*label.AsString());
    }
  }
  record.resource_pool = std::string(result.Text(row, 6));
  record.slots = result.Double(row, 7);
  record.started_at = result.Time(row, 8);
  record.ended_at = result.Maybe(&Result::Time, row, 9);
  record.allocation = model::AllocationId(std::string(result.Text(row, 10)));
  record.kind = model::ParseTaskKind(result.Text(row, 11)).value_or(model::TaskKind::kTrial);
  return record;
}

}  // namespace

absl::Status SqlAudit::AddAudit(const std::vector<AuditRecord>& records) {
  ArrayBuilder times, users, callers, tokens, peers, methods, targets, ids, codes;
  for (const AuditRecord& record : records) {
    times.Add(ToParam(record.at));
    users.Add(ToParam(record.user));
    callers.Add(ToParam(record.caller));
    tokens.Add(ToParam(record.access_token));
    peers.Add(ToParam(record.peer));
    methods.Add(ToParam(record.method));
    targets.Add(ToParam(record.target));
    ids.Add(ToParam(record.request_id));
    codes.Add(ToParam(record.code));
  }
  const Params params = {
      std::move(times).Finish(),   std::move(users).Finish(), std::move(callers).Finish(),
      std::move(tokens).Finish(),  std::move(peers).Finish(), std::move(methods).Finish(),
      std::move(targets).Finish(), std::move(ids).Finish(),   std::move(codes).Finish()};
  return fence_.Write(writer_, {{kAddAudit, params}});
}

absl::StatusOr<std::vector<AuditRecord>> SqlAudit::ListAudit(const AuditQuery& query) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<AuditRecord>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(kListAudit, MakeParams(query.user, query.method, query.since, query.until,
                                               query.before_id, query.limit, query.offset)));
    std::vector<AuditRecord> found;
    for (int row = 0; row < result.rows(); ++row) found.push_back(ToAudit(result, row));
    return found;
  });
}

absl::StatusOr<int> SqlAudit::CountAudit(const AuditQuery& query) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<int> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(kCountAudit, MakeParams(query.user, query.method, query.since, query.until,
                                                query.before_id)));
    return static_cast<int>(result.Int(0, 0));
  });
}

absl::StatusOr<std::optional<StoredResponse>> SqlStoredResponses::GetResponse(
    model::UserId user, const std::string& key, absl::Time since) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::optional<StoredResponse>> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kGetResponse, MakeParams(user, key, since)));
    if (result.rows() == 0) return std::nullopt;
    StoredResponse stored;
    stored.user = user;
    stored.key = key;
    stored.method = std::string(result.Text(0, 0));
    stored.request = std::string(result.Text(0, 1));
    stored.at = result.Time(0, 2);
    stored.code = static_cast<int>(result.Int(0, 3));
    stored.message = std::string(result.Text(0, 4));
    stored.response = absl::HexStringToBytes(std::string(result.Text(0, 5)));
    return stored;
  });
}

absl::Status SqlStoredResponses::PutResponse(const StoredResponse& stored, absl::Time since) {
  Params params = MakeParams(stored.user, stored.key, stored.method, stored.request, stored.at,
                             stored.code, stored.message);
  params.push_back(Binary(stored.response));
  return fence_.Write(
      pool_, {{"DELETE FROM answers WHERE at < $1", MakeParams(since)}, {kPutResponse, params}});
}

absl::StatusOr<std::optional<MessageRecord>> SqlClusterMessage::GetMessage() {
  return pool_.Run([](Connection& connection) -> absl::StatusOr<std::optional<MessageRecord>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT text, micros(starts_at), micros(ends_at), micros(created_at) "
                        "FROM cluster_message"));
    if (result.rows() == 0) return std::nullopt;
    MessageRecord message;
    message.text = std::string(result.Text(0, 0));
    message.starts_at = result.Time(0, 1);
    message.ends_at = result.Maybe(&Result::Time, 0, 2);
    message.created_at = result.Time(0, 3);
    return message;
  });
}

absl::Status SqlClusterMessage::SetMessage(const MessageRecord& message) {
  const Params params =
      MakeParams(message.text, message.starts_at, message.ends_at, message.created_at);
  return fence_.Write(pool_, {{kSetMessage, params}});
}

absl::Status SqlClusterMessage::ClearMessage() {
  return fence_.Write(pool_, {{"DELETE FROM cluster_message", {}}});
}

absl::StatusOr<std::vector<UsageRecord>> SqlUsage::ListUsage(absl::Time from, absl::Time until) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<UsageRecord>> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kListUsage, MakeParams(from, until)));
    std::vector<UsageRecord> found;
    for (int row = 0; row < result.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(found.emplace_back(), ToUsage(result, row));
    }
    return found;
  });
}

absl::StatusOr<std::vector<CapacityRecord>> SqlUsage::ListCapacity(absl::Time from,
                                                                   absl::Time until) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<CapacityRecord>> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kListCapacity, MakeParams(from, until)));
    std::vector<CapacityRecord> found;
    for (int row = 0; row < result.rows(); ++row) {
      found.push_back({.agent = model::AgentId(std::string(result.Text(row, 0))),
                       .resource_pool = std::string(result.Text(row, 1)),
                       .slots = static_cast<int32_t>(result.Int(row, 2)),
                       .began_at = result.Time(row, 3),
                       .ended_at = result.Maybe(&Result::Time, row, 4)});
    }
    return found;
  });
}

}  // namespace det::store
