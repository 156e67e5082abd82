#include "master/store/postgres/sql_webhooks.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/model/names.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/webhook_rows.h"
#include "master/store/postgres/workspace_rows.h"

namespace det::store {
namespace {

using model::Name;
using State = DeliveryRecord::State;

constexpr Name<WebhookType> kTypes[] = {{WebhookType::kDefault, "DEFAULT"},
                                        {WebhookType::kSlack, "SLACK"}};
constexpr Name<WebhookMode> kModes[] = {{WebhookMode::kWorkspace, "WORKSPACE"},
                                        {WebhookMode::kSpecific, "SPECIFIC"}};
constexpr Name<State> kStates[] = {
    {State::kPending, "PENDING"}, {State::kDelivered, "DELIVERED"}, {State::kFailed, "FAILED"}};

// Webhooks by ID, or all without $1.
constexpr char kWebhooks[] =
    "SELECT id, coalesce(workspace, 0), name, url, type, mode FROM webhooks "
    "WHERE $1::int IS NULL OR id = $1 ORDER BY id";
constexpr char kTriggers[] =
    "SELECT webhook, id, type, condition FROM webhook_triggers "
    "WHERE $1::int IS NULL OR webhook = $1 ORDER BY webhook, id";
constexpr char kWebhookAdd[] =
    "INSERT INTO webhooks (workspace, name, url, type, mode) "
    "VALUES (nullif($1::int, 0), $2, $3, $4, $5) RETURNING id";
constexpr char kWebhookChange[] =
    "UPDATE webhooks SET name = coalesce($2, name), url = coalesce($3, url) WHERE id = $1 "
    "RETURNING id";
constexpr char kDeliveryColumns[] =
    "SELECT id, webhook, event_id, trigger, condition, data, micros(raised_at), state, attempts, "
    "micros(next_at), micros(ended_at), error FROM webhook_deliveries ";
constexpr char kAttempt[] = R"sql(
UPDATE webhook_deliveries SET state = $2, attempts = attempts + 1, error = $5,
  next_at = CASE WHEN $2 = 'PENDING' THEN $4::timestamptz ELSE next_at END,
  ended_at = CASE WHEN $2 = 'PENDING' THEN NULL ELSE $3::timestamptz END
WHERE id = $1)sql";
constexpr char kPutPolicies[] =
    "INSERT INTO config_policies (workspace, workload, policies) VALUES (nullif($1::int, 0), $2, "
    "$3::json) ON CONFLICT (coalesce(workspace, 0), workload) DO UPDATE SET policies = "
    "excluded.policies";

template <class Enum, size_t N>
absl::Status Read(const Name<Enum> (&names)[N], const Result& result, int row, int column,
                  Enum* out) {
  const auto value = model::ParseName(names, result.Text(row, column));
  if (!value) {
    return absl::InternalError(absl::StrCat("webhooks: \"", std::string(result.Text(row, column)),
                                            "\" is not a valid value of its column"));
  }
  *out = *value;
  return absl::OkStatus();
}

absl::Status ReadTrigger(const Result& result, int row, int column, model::WebhookTrigger* out) {
  const auto value = model::ParseWebhookTrigger(result.Text(row, column));
  if (!value) return absl::InternalError("webhooks: a trigger has an unknown type");
  *out = *value;
  return absl::OkStatus();
}

absl::StatusOr<WebhookRecord> ToWebhook(const Result& result, int row) {
  WebhookRecord record;
  record.id = static_cast<int32_t>(result.Int(row, 0));
  record.workspace = static_cast<int32_t>(result.Int(row, 1));
  record.name = std::string(result.Text(row, 2));
  record.url = std::string(result.Text(row, 3));
  DET_RETURN_IF_ERROR(Read(kTypes, result, row, 4, &record.type));
  DET_RETURN_IF_ERROR(Read(kModes, result, row, 5, &record.mode));
  return record;
}

absl::StatusOr<DeliveryRecord> ToDelivery(const Result& result, int row) {
  DeliveryRecord record;
  record.id = result.Int(row, 0);
  record.webhook = static_cast<int32_t>(result.Int(row, 1));
  record.event_id = std::string(result.Text(row, 2));
  DET_RETURN_IF_ERROR(ReadTrigger(result, row, 3, &record.trigger));
  DET_ASSIGN_OR_RETURN(record.condition, ToValue(result, row, 4));
  DET_ASSIGN_OR_RETURN(record.data, ToValue(result, row, 5));
  record.raised_at = result.Time(row, 6);
  DET_RETURN_IF_ERROR(Read(kStates, result, row, 7, &record.state));
  record.attempts = static_cast<int>(result.Int(row, 8));
  record.next_at = result.Time(row, 9);
  record.ended_at = result.Maybe(&Result::Time, row, 10);
  record.error = std::string(result.Text(row, 11));
  return record;
}

absl::StatusOr<std::vector<WebhookRecord>> ReadWebhooks(Connection& connection,
                                                        std::optional<int32_t> id) {
  DET_ASSIGN_OR_RETURN(const Result rows, connection.Exec(kWebhooks, MakeParams(id)));
  DET_ASSIGN_OR_RETURN(const Result triggers, connection.Exec(kTriggers, MakeParams(id)));
  std::vector<WebhookRecord> all;
  int next = 0;
  for (int row = 0; row < rows.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(all.emplace_back(), ToWebhook(rows, row));
    WebhookRecord& record = all.back();
    for (; next < triggers.rows() && triggers.Int(next, 0) <= record.id; ++next) {
      if (triggers.Int(next, 0) < record.id)
        continue;  // the webhook was added between the two queries
      TriggerRecord& trigger = record.triggers.emplace_back();
      trigger.id = static_cast<int32_t>(triggers.Int(next, 1));
      DET_RETURN_IF_ERROR(ReadTrigger(triggers, next, 2, &trigger.type));
      DET_ASSIGN_OR_RETURN(trigger.condition, ToValue(triggers, next, 3));
    }
  }
  return all;
}

absl::Status AddTriggers(Connection& connection, int32_t id,
                         const std::vector<TriggerRecord>& triggers) {
  for (const TriggerRecord& trigger : triggers) {
    // A trigger to keep may have been deleted by a concurrent change; it is then created again.
    DET_RETURN_IF_ERROR(
        connection
            .Exec(
                "INSERT INTO webhook_triggers (webhook, type, condition) SELECT $1::int, $2::text, "
                "$3::jsonb WHERE NOT EXISTS (SELECT 1 FROM webhook_triggers WHERE webhook = $1 "
                "AND id = $4::int)",
                MakeParams(id, std::string(ToString(trigger.type)), trigger.condition, trigger.id))
            .status());
  }
  return absl::OkStatus();
}

absl::Status ReplaceTriggers(Connection& connection, int32_t id,
                             const std::vector<TriggerRecord>& triggers) {
  const std::string kept = absl::StrJoin(
      triggers, ",",
      [](std::string* out, const TriggerRecord& trigger) { absl::StrAppend(out, trigger.id); });
  DET_RETURN_IF_ERROR(connection
                          .Exec("DELETE FROM webhook_triggers WHERE webhook = $1 AND "
                                "id <> ALL (string_to_array($2, ',')::int[])",
                                MakeParams(id, kept))
                          .status());
  return AddTriggers(connection, id, triggers);
}

absl::StatusOr<WebhookRecord> ReadWebhook(Connection& connection, int32_t id) {
  DET_ASSIGN_OR_RETURN(std::vector<WebhookRecord> found, ReadWebhooks(connection, id));
  if (found.empty()) return NoSuchWebhook(id);
  return std::move(found.front());
}

}  // namespace

absl::StatusOr<std::vector<WebhookRecord>> SqlWebhooks::ListWebhooks() {
  return pool_.Run([](Connection& connection) { return ReadWebhooks(connection, std::nullopt); });
}

absl::StatusOr<WebhookRecord> SqlWebhooks::GetWebhook(int32_t id) {
  return pool_.Run([&](Connection& connection) { return ReadWebhook(connection, id); });
}

absl::StatusOr<WebhookRecord> SqlWebhooks::AddWebhook(const WebhookRecord& webhook) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<WebhookRecord> {
    if (webhook.workspace != 0) DET_RETURN_IF_ERROR(LockOpen(connection, webhook.workspace));
    DET_ASSIGN_OR_RETURN(
        const Result added,
        connection.Exec(kWebhookAdd,
                        MakeParams(webhook.workspace, webhook.name, webhook.url,
                                   std::string(model::GetName(kTypes, webhook.type)),
                                   std::string(model::GetName(kModes, webhook.mode)))));
    const auto id = static_cast<int32_t>(added.Int(0, 0));
    std::vector<TriggerRecord> triggers = webhook.triggers;
    for (TriggerRecord& trigger : triggers) trigger.id = 0;
    DET_RETURN_IF_ERROR(AddTriggers(connection, id, triggers));
    return ReadWebhook(connection, id);
  });
}

absl::StatusOr<WebhookRecord> SqlWebhooks::ChangeWebhook(int32_t id, const WebhookPatch& patch) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<WebhookRecord> {
    DET_ASSIGN_OR_RETURN(const Result changed,
                         connection.Exec(kWebhookChange, MakeParams(id, patch.name, patch.url)));
    if (patch.triggers && changed.rows() > 0) {
      DET_RETURN_IF_ERROR(ReplaceTriggers(connection, id, *patch.triggers));
    }
    return ReadWebhook(connection, id);
  });
}

absl::Status SqlWebhooks::DeleteWebhook(int32_t id) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(
        const Result deleted,
        connection.Exec("DELETE FROM webhooks WHERE id = $1 RETURNING id", MakeParams(id)));
    return deleted.rows() > 0 ? absl::OkStatus() : NoSuchWebhook(id);
  });
}

absl::StatusOr<int> SqlWebhooks::Raise(const model::WebhookEvent& event) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<int> {
    const Connection::Statement raise = RaiseStatement(event);
    DET_ASSIGN_OR_RETURN(const Result made, connection.Exec(raise.sql, raise.params));
    return made.rows();
  });
}

absl::StatusOr<std::optional<DeliveryRecord>> SqlWebhooks::GetNextDelivery(
    const std::vector<int32_t>& excluded) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::optional<DeliveryRecord>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(kDeliveryColumns,
                                     "WHERE state = 'PENDING' AND webhook <> ALL($1::int[]) "
                                     "ORDER BY next_at, id LIMIT 1"),
                        {ToArray(excluded)}));
    if (result.rows() == 0) return std::optional<DeliveryRecord>();
    DET_ASSIGN_OR_RETURN(DeliveryRecord next, ToDelivery(result, 0));
    return std::optional<DeliveryRecord>(std::move(next));
  });
}

absl::Status SqlWebhooks::RecordAttempt(int64_t delivery, const AttemptRecord& attempt) {
  const Params params = MakeParams(delivery, std::string(model::GetName(kStates, attempt.state)),
                                   attempt.at, attempt.next_at, attempt.error);
  return fence_.Write(pool_, {{kAttempt, params}});
}

absl::StatusOr<std::vector<DeliveryRecord>> SqlWebhooks::ListDeliveries(int32_t webhook, int limit,
                                                                        int offset) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::vector<DeliveryRecord>> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec(absl::StrCat(kDeliveryColumns,
                                     "WHERE webhook = $1 ORDER BY id DESC LIMIT $2 OFFSET $3"),
                        MakeParams(webhook, limit, offset)));
    std::vector<DeliveryRecord> found;
    for (int row = 0; row < result.rows(); ++row) {
      DET_ASSIGN_OR_RETURN(found.emplace_back(), ToDelivery(result, row));
    }
    return found;
  });
}

absl::StatusOr<int> SqlWebhooks::CountDeliveries(int32_t webhook) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<int> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT count(*) FROM webhook_deliveries WHERE webhook = $1",
                        MakeParams(webhook)));
    return static_cast<int>(result.Int(0, 0));
  });
}

absl::Status SqlWebhooks::DropDeliveries(absl::Time before) {
  return fence_.Write(pool_,
                      {{"DELETE FROM webhook_deliveries WHERE state <> 'PENDING' AND ended_at < $1",
                        MakeParams(before)}});
}

absl::StatusOr<model::Value> SqlConfigPolicies::GetPolicies(int32_t workspace,
                                                            const std::string& workload) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<model::Value> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec("SELECT policies FROM config_policies "
                                         "WHERE coalesce(workspace, 0) = $1 AND workload = $2",
                                         MakeParams(workspace, workload)));
    if (result.rows() == 0) return model::Value();
    return ToValue(result, 0, 0);
  });
}

absl::Status SqlConfigPolicies::PutPolicies(int32_t workspace, const std::string& workload,
                                            const model::Value& policies) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    if (workspace != 0) DET_RETURN_IF_ERROR(LockOpen(connection, workspace));
    return connection.Exec(kPutPolicies, MakeParams(workspace, workload, policies)).status();
  });
}

absl::Status SqlConfigPolicies::DeletePolicies(int32_t workspace, const std::string& workload) {
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection
        .Exec("DELETE FROM config_policies WHERE coalesce(workspace, 0) = $1 AND workload = $2",
              MakeParams(workspace, workload))
        .status();
  });
}

}  // namespace det::store
