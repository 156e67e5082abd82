#include "master/store/testing/fake_webhooks.h"

#include <algorithm>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/interfaces/projects.h"

namespace det::store {
namespace {

using State = DeliveryRecord::State;

template <class T>
bool Has(const std::vector<T>& list, const T& item) {
  return std::count(list.begin(), list.end(), item) > 0;
}

// Whether the webhook is notified of events of an experiment with this configuration.
bool IsSubscribed(const WebhookRecord& webhook, int32_t workspace,
                  const model::WebhooksConfig& config) {
  if (config.exclude || (webhook.workspace != 0 && webhook.workspace != workspace)) return false;
  return webhook.mode == WebhookMode::kWorkspace || Has(config.ids, int64_t{webhook.id}) ||
         Has(config.names, webhook.name);
}

// Returns OK for workspace 0, the cluster.
absl::Status CheckOpen(const FakeDatabase& db, int32_t workspace) {
  if (workspace == 0) return absl::OkStatus();
  const auto it = db.workspace_rows.workspaces.find(workspace);
  if (it == db.workspace_rows.workspaces.end()) return NoSuchWorkspace(workspace);
  return it->second.archived ? WorkspaceIsArchived(it->second.name) : absl::OkStatus();
}

bool MatchesTrigger(const TriggerRecord& trigger, const model::WebhookEvent& event) {
  if (trigger.type != event.trigger) return false;
  if (event.only_trigger != 0 && trigger.id != event.only_trigger) return false;
  if (event.state.empty()) return true;
  const model::Value* state = trigger.condition.Find("state");
  return state != nullptr && state->AsString() != nullptr && *state->AsString() == event.state;
}

}  // namespace

int FakeDatabase::Raise(const model::WebhookEvent& event) {
  const auto e = experiments.find(event.experiment);
  if (e == experiments.end()) return 0;
  const experiment::Experiment placed = WithCurrentProject(e->second);
  int made = 0;
  for (const auto& [id, webhook] : webhook_rows.webhooks) {
    if (!IsSubscribed(webhook, placed.workspace, placed.config->integrations.webhooks)) continue;
    for (const TriggerRecord& trigger : webhook.triggers) {
      if (!MatchesTrigger(trigger, event)) continue;
      if (event.once_for && !webhook_rows.fired.insert({*event.once_for, trigger.id}).second)
        continue;
      DeliveryRecord& row = webhook_rows.deliveries[++webhook_rows.last_delivery];
      row.id = webhook_rows.last_delivery;
      row.webhook = id;
      row.event_id = absl::StrCat("event-", row.id);
      row.trigger = event.trigger;
      row.condition = trigger.condition;
      row.data = Canonical(event.data);
      row.raised_at = row.next_at = Canonical(event.at);
      ++made;
    }
  }
  return made;
}

absl::StatusOr<std::vector<WebhookRecord>> FakeWebhooks::ListWebhooks() {
  std::lock_guard lock(db_.mutex);
  std::vector<WebhookRecord> all;
  for (const auto& [id, webhook] : db_.webhook_rows.webhooks) all.push_back(webhook);
  return all;
}

absl::StatusOr<WebhookRecord> FakeWebhooks::GetWebhook(int32_t id) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.webhook_rows.webhooks.find(id);
  if (it == db_.webhook_rows.webhooks.end()) return NoSuchWebhook(id);
  return it->second;
}

absl::StatusOr<WebhookRecord> FakeWebhooks::AddWebhook(const WebhookRecord& webhook) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(CheckOpen(db_, webhook.workspace));
  WebhookRecord& row = db_.webhook_rows.webhooks[++db_.webhook_rows.last_webhook];
  row = webhook;
  row.id = db_.webhook_rows.last_webhook;
  for (TriggerRecord& trigger : row.triggers) {
    trigger.id = ++db_.webhook_rows.last_trigger;
    trigger.condition = Canonical(trigger.condition);
  }
  return row;
}

absl::StatusOr<WebhookRecord> FakeWebhooks::ChangeWebhook(int32_t id, const WebhookPatch& patch) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.webhook_rows.webhooks.find(id);
  if (it == db_.webhook_rows.webhooks.end()) return NoSuchWebhook(id);
  WebhookRecord& row = it->second;
  if (patch.name) row.name = *patch.name;
  if (patch.url) row.url = *patch.url;
  if (patch.triggers) {
    std::erase_if(row.triggers, [&](const TriggerRecord& had) {
      return std::none_of(patch.triggers->begin(), patch.triggers->end(),
                          [&](const TriggerRecord& kept) { return kept.id == had.id; });
    });
    for (const TriggerRecord& each : *patch.triggers) {
      const bool is_there =
          std::any_of(row.triggers.begin(), row.triggers.end(),
                      [&](const TriggerRecord& kept) { return kept.id == each.id; });
      if (is_there) continue;
      TriggerRecord& added = row.triggers.emplace_back(each);
      added.id = ++db_.webhook_rows.last_trigger;
      added.condition = Canonical(each.condition);
    }
  }
  return row;
}

absl::Status FakeWebhooks::DeleteWebhook(int32_t id) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  if (db_.webhook_rows.webhooks.erase(id) == 0) return NoSuchWebhook(id);
  std::erase_if(db_.webhook_rows.deliveries,
                [&](const auto& each) { return each.second.webhook == id; });
  return absl::OkStatus();
}

absl::StatusOr<int> FakeWebhooks::Raise(const model::WebhookEvent& event) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  return db_.Raise(event);
}

absl::StatusOr<std::optional<DeliveryRecord>> FakeWebhooks::GetNextDelivery(
    const std::vector<int32_t>& excluded) {
  std::lock_guard lock(db_.mutex);
  const DeliveryRecord* next = nullptr;
  for (const auto& [id, row] : db_.webhook_rows.deliveries) {
    if (row.state != State::kPending || Has(excluded, row.webhook)) continue;
    if (next == nullptr || row.next_at < next->next_at) next = &row;
  }
  if (next == nullptr) return std::optional<DeliveryRecord>();
  return std::optional<DeliveryRecord>(*next);
}

absl::Status FakeWebhooks::RecordAttempt(int64_t delivery, const AttemptRecord& attempt) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  const auto it = db_.webhook_rows.deliveries.find(delivery);
  if (it == db_.webhook_rows.deliveries.end()) return absl::OkStatus();
  DeliveryRecord& row = it->second;
  row.state = attempt.state;
  ++row.attempts;
  row.error = SanitizeText(attempt.error);
  if (attempt.state == State::kPending) {
    row.next_at = Canonical(attempt.next_at);
  } else {
    row.ended_at = Canonical(attempt.at);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DeliveryRecord>> FakeWebhooks::ListDeliveries(int32_t webhook, int limit,
                                                                         int offset) {
  std::lock_guard lock(db_.mutex);
  std::vector<DeliveryRecord> found;
  for (auto it = db_.webhook_rows.deliveries.rbegin(); it != db_.webhook_rows.deliveries.rend();
       ++it) {
    if (static_cast<int>(found.size()) == limit) break;
    if (it->second.webhook == webhook && offset-- <= 0) found.push_back(it->second);
  }
  return found;
}

absl::StatusOr<int> FakeWebhooks::CountDeliveries(int32_t webhook) {
  std::lock_guard lock(db_.mutex);
  return static_cast<int>(
      std::count_if(db_.webhook_rows.deliveries.begin(), db_.webhook_rows.deliveries.end(),
                    [&](const auto& each) { return each.second.webhook == webhook; }));
}

absl::Status FakeWebhooks::DropDeliveries(absl::Time before) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  std::erase_if(db_.webhook_rows.deliveries, [&](const auto& each) {
    return each.second.ended_at && *each.second.ended_at < before;
  });
  return absl::OkStatus();
}

absl::StatusOr<model::Value> FakeConfigPolicies::GetPolicies(int32_t workspace,
                                                             const std::string& workload) {
  std::lock_guard lock(db_.mutex);
  const auto it = db_.webhook_rows.policies.find({workspace, workload});
  return it == db_.webhook_rows.policies.end() ? model::Value() : it->second;
}

absl::Status FakeConfigPolicies::PutPolicies(int32_t workspace, const std::string& workload,
                                             const model::Value& policies) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  DET_RETURN_IF_ERROR(CheckOpen(db_, workspace));
  db_.webhook_rows.policies[{workspace, workload}] = Canonical(policies);
  return absl::OkStatus();
}

absl::Status FakeConfigPolicies::DeletePolicies(int32_t workspace, const std::string& workload) {
  DET_RETURN_IF_ERROR(check_epoch_());
  std::lock_guard lock(db_.mutex);
  db_.webhook_rows.policies.erase({workspace, workload});
  return absl::OkStatus();
}

}  // namespace det::store
