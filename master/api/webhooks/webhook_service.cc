#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/webhook.unary.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/api_service.h"
#include "master/api/webhooks/services.h"
#include "master/webhooks/conditions.h"
#include "master/webhooks/deliverer.h"
#include "master/webhooks/post.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

constexpr size_t kWebhookNameLimit = 128;
constexpr int kMaxTriggers = 100;
constexpr int kMaxPatterns = 100;  // TASK_LOG triggers in a workspace, or in none
constexpr int kDefaultPageSize = 100;
constexpr int kMaxPageSize = 1'000;
constexpr size_t kMaxAlertBytes = 64 << 10;

v1::TriggerType TriggerToProto(model::WebhookTrigger type) {
  switch (type) {
    case model::WebhookTrigger::kExperimentStateChange:
      return v1::TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE;
    case model::WebhookTrigger::kMetricThresholdExceeded:
      return v1::TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED;
    case model::WebhookTrigger::kTaskLog:
      return v1::TRIGGER_TYPE_TASK_LOG;
    case model::WebhookTrigger::kCustom:
      return v1::TRIGGER_TYPE_CUSTOM;
  }
  return v1::TRIGGER_TYPE_UNSPECIFIED;
}

std::optional<model::WebhookTrigger> TriggerFromProto(v1::TriggerType type) {
  for (const auto each : {model::WebhookTrigger::kExperimentStateChange,
                          model::WebhookTrigger::kMetricThresholdExceeded,
                          model::WebhookTrigger::kTaskLog, model::WebhookTrigger::kCustom}) {
    if (TriggerToProto(each) == type) return each;
  }
  return std::nullopt;
}

v1::Webhook WebhookToProto(const store::WebhookRecord& record) {
  v1::Webhook out;
  out.set_id(record.id);
  out.set_url(record.url);
  out.set_name(record.name);
  out.set_workspace_id(record.workspace);
  out.set_webhook_type(record.type == store::WebhookType::kSlack ? v1::WEBHOOK_TYPE_SLACK
                                                                 : v1::WEBHOOK_TYPE_DEFAULT);
  out.set_mode(record.mode == store::WebhookMode::kSpecific ? v1::WEBHOOK_MODE_SPECIFIC
                                                            : v1::WEBHOOK_MODE_WORKSPACE);
  for (const store::TriggerRecord& trigger : record.triggers) {
    v1::Trigger& to = *out.add_triggers();
    to.set_id(trigger.id);
    to.set_trigger_type(TriggerToProto(trigger.type));
    *to.mutable_condition() = ToStruct(trigger.condition);
    to.set_webhook_id(record.id);
  }
  return out;
}

v1::WebhookDelivery DeliveryToProto(const store::DeliveryRecord& record) {
  using State = store::DeliveryRecord::State;
  v1::WebhookDelivery out;
  out.set_id(record.id);
  out.set_event_id(record.event_id);
  out.set_trigger_type(TriggerToProto(record.trigger));
  out.set_state(record.state == State::kPending     ? v1::WebhookDelivery::STATE_PENDING
                : record.state == State::kDelivered ? v1::WebhookDelivery::STATE_DELIVERED
                                                    : v1::WebhookDelivery::STATE_FAILED);
  *out.mutable_raised_at() = ToProto(record.raised_at);
  out.set_attempts(record.attempts);
  if (record.state == State::kPending) *out.mutable_next_at() = ToProto(record.next_at);
  if (record.ended_at) *out.mutable_ended_at() = ToProto(*record.ended_at);
  out.set_error(record.error);
  *out.mutable_event_data() = ToStruct(record.data);
  return out;
}

absl::Status CheckWebhookName(const std::string& name) {
  if (name.size() <= kWebhookNameLimit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("name: expected up to ", kWebhookNameLimit, " bytes, found ", name.size()));
}

// Checks triggers that the webhook does not have yet.
absl::Status CheckMode(const store::WebhookRecord& record) {
  for (const store::TriggerRecord& trigger : record.triggers) {
    if (trigger.id == 0 && trigger.type == model::WebhookTrigger::kCustom &&
        record.mode != store::WebhookMode::kSpecific) {
      return absl::InvalidArgumentError(
          "triggers: TRIGGER_TYPE_CUSTOM needs the mode WEBHOOK_MODE_SPECIFIC: only experiments "
          "whose configuration names the webhook notify it");
    }
  }
  return absl::OkStatus();
}

absl::Status ReadTriggers(const google::protobuf::RepeatedPtrField<v1::Trigger>& given,
                          store::WebhookRecord* record) {
  if (given.empty() || given.size() > kMaxTriggers) {
    return absl::InvalidArgumentError(
        absl::StrCat("triggers: expected 1 to ", kMaxTriggers, ", found ", given.size()));
  }
  for (const v1::Trigger& each : given) {
    const auto type = TriggerFromProto(each.trigger_type());
    if (!type) {
      return absl::InvalidArgumentError(
          "triggers.trigger_type: expected EXPERIMENT_STATE_CHANGE, METRIC_THRESHOLD_EXCEEDED, "
          "TASK_LOG or CUSTOM, with the prefix TRIGGER_TYPE_");
    }
    store::TriggerRecord& trigger = record->triggers.emplace_back();
    trigger.type = *type;
    DET_ASSIGN_OR_RETURN(
        trigger.condition,
        webhooks::CheckCondition(*type, FromStruct(each.condition(), Numbers::kIntegersIfWhole)));
  }
  return absl::OkStatus();
}

absl::StatusOr<store::WebhookRecord> WebhookFromProto(const v1::Webhook& given) {
  store::WebhookRecord record;
  DET_RETURN_IF_ERROR(CheckWebhookName(given.name()));
  DET_RETURN_IF_ERROR(webhooks::CheckUrl(given.url()));
  record.name = given.name();
  record.url = given.url();
  record.workspace = given.workspace_id();
  if (given.webhook_type() == v1::WEBHOOK_TYPE_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "webhook_type: expected WEBHOOK_TYPE_DEFAULT or WEBHOOK_TYPE_SLACK");
  }
  if (given.webhook_type() == v1::WEBHOOK_TYPE_SLACK) record.type = store::WebhookType::kSlack;
  if (given.mode() == v1::WEBHOOK_MODE_SPECIFIC) record.mode = store::WebhookMode::kSpecific;
  DET_RETURN_IF_ERROR(ReadTriggers(given.triggers(), &record));
  DET_RETURN_IF_ERROR(CheckMode(record));
  return record;
}

// Authorization requires an administrator of the workspace; this checks webhooks without one.
absl::Status CheckCanChange(const auth::Principal& principal, int32_t workspace) {
  if (workspace != 0 || principal.RoleIn(0) >= model::Role::kClusterAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "a webhook without a workspace receives the events of all workspaces, so only cluster "
      "administrators can manage it; ask one, or create a webhook in your workspace");
}

// The name of a level in the payload: "INFO".
std::string FormatLevel(v1::LogLevel level) {
  constexpr size_t kPrefix = sizeof("LOG_LEVEL_") - 1;
  const std::string& name = v1::LogLevel_Name(level);
  return name.size() > kPrefix ? name.substr(kPrefix) : "UNSPECIFIED";
}

class WebhookService final : public ApiService<v1::WebhookService> {
 public:
  WebhookService(CallPipeline& calls, store::Store& store, webhooks::TriggerWatch* triggers,
                 webhooks::Deliverer& deliverer)
      : ApiService(calls), store_(store), triggers_(triggers), deliverer_(deliverer) {}

  grpc::ServerUnaryReactor* GetWebhooks(grpc::CallbackServerContext* context,
                                        const v1::GetWebhooksRequest* request,
                                        v1::GetWebhooksResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto all, hooks().ListWebhooks());
                   for (const store::WebhookRecord& each : all) {
                     if (!principal.Holds(model::Permission::kViewWebhooks, each.workspace))
                       continue;
                     *response->add_webhooks() = WebhookToProto(each);
                   }
                   *response->mutable_pagination() =
                       ApplyWindow(*request, response->mutable_webhooks());
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetWebhook(grpc::CallbackServerContext* context,
                                       const v1::GetWebhookRequest* request,
                                       v1::GetWebhookResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto record, hooks().GetWebhook(request->id()));
                   *response->mutable_webhook() = WebhookToProto(record);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PostWebhook(grpc::CallbackServerContext* context,
                                        const v1::PostWebhookRequest* request,
                                        v1::PostWebhookResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& principal) -> absl::Status {
          DET_RETURN_IF_ERROR(CheckCanChange(principal, request->webhook().workspace_id()));
          DET_ASSIGN_OR_RETURN(const auto record, WebhookFromProto(request->webhook()));
          DET_RETURN_IF_ERROR(CheckPatterns(record));
          DET_ASSIGN_OR_RETURN(const auto created, hooks().AddWebhook(record));
          triggers_->Changed();
          *response->mutable_webhook() = WebhookToProto(created);
          AddWarning(created.url, response);
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* PatchWebhook(grpc::CallbackServerContext* context,
                                         const v1::PatchWebhookRequest* request,
                                         v1::PatchWebhookResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Patch(*request, principal, response);
                 });
  }

  grpc::ServerUnaryReactor* DeleteWebhook(grpc::CallbackServerContext* context,
                                          const v1::DeleteWebhookRequest* request,
                                          v1::DeleteWebhookResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal) -> absl::Status {
                   DET_RETURN_IF_ERROR(ReadForChange(request->id(), principal).status());
                   DET_RETURN_IF_ERROR(hooks().DeleteWebhook(request->id()));
                   triggers_->Changed();
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* TestWebhook(grpc::CallbackServerContext* context,
                                        const v1::TestWebhookRequest* request,
                                        v1::TestWebhookResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Test(request->id(), principal, response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* GetWebhookDeliveries(
      grpc::CallbackServerContext* context, const v1::GetWebhookDeliveriesRequest* request,
      v1::GetWebhookDeliveriesResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_RETURN_IF_ERROR(hooks().GetWebhook(request->id()).status());
                   return ReadDeliveries(*request, response);
                 });
  }

  grpc::ServerUnaryReactor* PostWebhookEventData(
      grpc::CallbackServerContext* context, const v1::PostWebhookEventDataRequest* request,
      v1::PostWebhookEventDataResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) { return RaiseAlert(*request); });
  }

 private:
  store::Webhooks& hooks() { return store_.webhooks(); }

  // Warns if the master will not deliver to the URL.
  template <class Response>
  void AddWarning(const std::string& url, Response* response) const {
    const absl::Status checked = deliverer_.CheckHost(url);
    if (!checked.ok()) {
      response->add_warnings(absl::StrCat("events are not delivered: ", checked.message()));
    }
  }

  absl::Status ReadDeliveries(const v1::GetWebhookDeliveriesRequest& request,
                              v1::GetWebhookDeliveriesResponse* response) {
    DET_ASSIGN_OR_RETURN(const int total, hooks().CountDeliveries(request.id()));
    const int page =
        request.limit() == 0 ? kDefaultPageSize : std::min(request.limit(), kMaxPageSize);
    const bool ascending = request.order_by() == v1::ORDER_BY_ASC;
    const store::Window window = ToNewestFirst({request.offset(), page}, ascending, total);
    DET_ASSIGN_OR_RETURN(auto found,
                         hooks().ListDeliveries(request.id(), window.limit, window.offset));
    if (ascending) std::reverse(found.begin(), found.end());
    for (const auto& each : found) *response->add_deliveries() = DeliveryToProto(each);
    *response->mutable_pagination() =
        ToPagination(request.offset(), page, response->deliveries_size(), total);
    return absl::OkStatus();
  }

  // The new triggers of a webhook. Triggers that it has already keep their IDs.
  absl::StatusOr<std::vector<store::TriggerRecord>> ReadNewTriggers(
      const v1::PatchWebhook& given, const store::WebhookRecord& now) {
    store::WebhookRecord record;
    DET_RETURN_IF_ERROR(ReadTriggers(given.triggers(), &record));
    record.id = now.id;
    record.workspace = now.workspace;
    record.mode = now.mode;
    DET_RETURN_IF_ERROR(CheckPatterns(record));
    std::vector<store::TriggerRecord> had = now.triggers;
    for (store::TriggerRecord& each : record.triggers) {
      const auto same = std::find_if(had.begin(), had.end(), [&](const auto& other) {
        return other.type == each.type && other.condition == each.condition;
      });
      if (same == had.end()) continue;
      each.id = same->id;
      had.erase(same);
    }
    DET_RETURN_IF_ERROR(CheckMode(record));
    return std::move(record.triggers);
  }

  // Limits the number of log patterns of a workspace, because every log line is matched against all
  // of them. Counts `record` in place of the stored webhook with its ID.
  absl::Status CheckPatterns(const store::WebhookRecord& record) {
    const auto patterns = [](const store::WebhookRecord& webhook) {
      return std::count_if(webhook.triggers.begin(), webhook.triggers.end(), [](const auto& each) {
        return each.type == model::WebhookTrigger::kTaskLog;
      });
    };
    if (patterns(record) == 0) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(const auto all, hooks().ListWebhooks());
    int64_t sum = patterns(record);
    for (const store::WebhookRecord& each : all) {
      if (each.workspace == record.workspace && each.id != record.id) sum += patterns(each);
    }
    if (sum <= kMaxPatterns) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("triggers: ",
                     record.workspace == 0 ? std::string("the webhooks without a workspace")
                                           : absl::StrCat("workspace ", record.workspace),
                     " would have ", sum, " log patterns; the limit is ", kMaxPatterns,
                     ": delete webhooks, or combine patterns with |"));
  }

  absl::StatusOr<store::WebhookRecord> ReadForChange(int32_t id, const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(store::WebhookRecord record, hooks().GetWebhook(id));
    DET_RETURN_IF_ERROR(CheckCanChange(principal, record.workspace));
    return record;
  }

  absl::Status Patch(const v1::PatchWebhookRequest& request, const auth::Principal& principal,
                     v1::PatchWebhookResponse* response) {
    DET_ASSIGN_OR_RETURN(const store::WebhookRecord now, ReadForChange(request.id(), principal));
    store::WebhookPatch patch;
    if (!request.webhook().triggers().empty()) {
      DET_ASSIGN_OR_RETURN(patch.triggers, ReadNewTriggers(request.webhook(), now));
    }
    if (request.webhook().has_name()) {
      DET_RETURN_IF_ERROR(CheckWebhookName(request.webhook().name()));
      patch.name = request.webhook().name();
    }
    // Older clients always send the name.
    if (!request.webhook().url().empty() || (!patch.name && !patch.triggers)) {
      DET_RETURN_IF_ERROR(webhooks::CheckUrl(request.webhook().url()));
      patch.url = request.webhook().url();
    }
    DET_RETURN_IF_ERROR(hooks().ChangeWebhook(request.id(), patch).status());
    triggers_->Changed();
    if (patch.url) AddWarning(*patch.url, response);
    return absl::OkStatus();
  }

  void Test(int32_t id, const auth::Principal& principal, v1::TestWebhookResponse* response,
            Done done) {
    const absl::StatusOr<store::WebhookRecord> record = ReadForChange(id, principal);
    if (!record.ok()) return done(record.status());
    deliverer_.SendTest(*record, [response, done = std::move(done)](absl::Status sent) mutable {
      response->set_completed(sent.ok());
      if (sent.ok() || absl::IsCancelled(sent)) return done(std::move(sent));
      done(absl::FailedPreconditionError(
          absl::StrCat("the test event was not delivered: ", sent.message())));
    });
  }

  absl::Status RaiseAlert(const v1::PostWebhookEventDataRequest& request) {
    const v1::CustomWebhookEventData& data = request.data();
    if (data.title().size() + data.description().size() > kMaxAlertBytes) {
      return absl::InvalidArgumentError(absl::StrCat("data: title and description together exceed ",
                                                     kMaxAlertBytes, " bytes; shorten them"));
    }
    std::optional<model::TrialId> trial;
    if (request.trial_id() > 0) trial = model::TrialId(request.trial_id());
    return triggers_->RaiseCustom(
        model::ExperimentId(request.experiment_id()), trial,
        {{"custom_data", model::Value::Object{{"level", FormatLevel(data.level())},
                                              {"title", data.title()},
                                              {"description", data.description()}}}});
  }

  store::Store& store_;
  webhooks::TriggerWatch* triggers_;
  webhooks::Deliverer& deliverer_;
};

}  // namespace

std::unique_ptr<Service> MakeWebhookService(CallPipeline& calls, store::Store& store,
                                            webhooks::TriggerWatch* triggers,
                                            webhooks::Deliverer& deliverer) {
  return std::make_unique<WebhookService>(calls, store, triggers, deliverer);
}

}  // namespace det::api
