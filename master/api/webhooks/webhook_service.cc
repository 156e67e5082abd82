#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/webhook.pb.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "master/api/common/convert.h"
#include "master/api/rpc/call.h"
#include "master/api/rpc/service.h"
#include "master/api/webhooks/services.h"
#include "master/webhooks/conditions.h"
#include "master/webhooks/deliverer.h"
#include "master/webhooks/post.h"
#include "master/webhooks/trigger_watch.h"

namespace det::api {
namespace {

constexpr size_t kWebhookNameLimit = 128;
constexpr int kMostTriggers = 100;
constexpr int kMostPatterns = 100;  // TASK_LOG, of a workspace, and of none
constexpr int kDeliveriesPage = 100;
constexpr int kLongestDeliveriesPage = 1'000;
constexpr size_t kAlertLimit = 64 << 10;  // of an alert

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
  if (!name.empty() && name.size() <= kWebhookNameLimit) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("name: expected 1 to ", kWebhookNameLimit, " bytes, found ", name.size()));
}

absl::Status ReadTriggers(const google::protobuf::RepeatedPtrField<v1::Trigger>& given,
                          store::WebhookRecord* wanted) {
  if (given.empty() || given.size() > kMostTriggers) {
    return absl::InvalidArgumentError(
        absl::StrCat("triggers: expected 1 to ", kMostTriggers, ", found ", given.size()));
  }
  for (const v1::Trigger& each : given) {
    const auto type = TriggerFromProto(each.trigger_type());
    if (!type) {
      return absl::InvalidArgumentError(
          "triggers.trigger_type: expected EXPERIMENT_STATE_CHANGE, METRIC_THRESHOLD_EXCEEDED, "
          "TASK_LOG or CUSTOM, each after TRIGGER_TYPE_");
    }
    store::TriggerRecord& trigger = wanted->triggers.emplace_back();
    trigger.type = *type;
    DET_ASSIGN_OR_RETURN(
        trigger.condition,
        webhooks::CheckCondition(*type, FromStruct(each.condition(), Numbers::kIntegersIfWhole)));
  }
  return absl::OkStatus();
}

absl::StatusOr<store::WebhookRecord> WebhookFromProto(const v1::Webhook& given) {
  store::WebhookRecord wanted;
  DET_RETURN_IF_ERROR(CheckWebhookName(given.name()));
  DET_RETURN_IF_ERROR(webhooks::CheckUrl(given.url()));
  wanted.name = given.name();
  wanted.url = given.url();
  wanted.workspace = given.workspace_id();
  if (given.webhook_type() == v1::WEBHOOK_TYPE_UNSPECIFIED ||
      given.mode() == v1::WEBHOOK_MODE_UNSPECIFIED) {
    return absl::InvalidArgumentError(
        "webhook_type: expected WEBHOOK_TYPE_DEFAULT or WEBHOOK_TYPE_SLACK; mode: expected "
        "WEBHOOK_MODE_WORKSPACE or WEBHOOK_MODE_SPECIFIC");
  }
  if (given.webhook_type() == v1::WEBHOOK_TYPE_SLACK) wanted.type = store::WebhookType::kSlack;
  if (given.mode() == v1::WEBHOOK_MODE_SPECIFIC) wanted.mode = store::WebhookMode::kSpecific;
  DET_RETURN_IF_ERROR(ReadTriggers(given.triggers(), &wanted));
  return wanted;
}

// The table asks for an administrator of the workspace; this, for one that has none.
absl::Status CheckMayChange(const auth::Principal& principal, int32_t workspace) {
  if (workspace != 0 || principal.RoleIn(0) >= model::Role::kClusterAdmin) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "a webhook of no workspace hears of all, and is for administrators of the cluster; ask one, "
      "or make one of your workspace");
}

// The name of a level as it is sent: "INFO".
std::string LevelOf(v1::LogLevel level) {
  constexpr size_t kPrefix = sizeof("LOG_LEVEL_") - 1;
  const std::string& name = v1::LogLevel_Name(level);
  return name.size() > kPrefix ? name.substr(kPrefix) : "UNSPECIFIED";
}

class WebhookService final : public Service {
 public:
  explicit WebhookService(const Edge& edge) : Service("det.api.v1.WebhookService"), edge_(edge) {
    Serve("GetWebhooks", &WebhookService::GetWebhooks);
    Serve("GetWebhook", &WebhookService::GetWebhook);
    Serve("PostWebhook", &WebhookService::PostWebhook);
    Serve("PatchWebhook", &WebhookService::PatchWebhook);
    Serve("DeleteWebhook", &WebhookService::DeleteWebhook);
    Serve("TestWebhook", &WebhookService::TestWebhook);
    Serve("GetWebhookDeliveries", &WebhookService::GetWebhookDeliveries);
    Serve("PostWebhookEventData", &WebhookService::PostWebhookEventData);
  }

  grpc::ServerUnaryReactor* GetWebhooks(grpc::CallbackServerContext* context,
                                        const v1::GetWebhooksRequest* request,
                                        v1::GetWebhooksResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.WebhookService.GetWebhooks",
                    [this, request, response](const auth::Principal& principal) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto all, hooks().ListWebhooks());
                      for (const store::WebhookRecord& each : all) {
                        if (principal.RoleIn(each.workspace) < model::Role::kEditor) continue;
                        *response->add_webhooks() = WebhookToProto(each);
                      }
                      *response->mutable_pagination() =
                          KeepWindow(*request, response->mutable_webhooks());
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* GetWebhook(grpc::CallbackServerContext* context,
                                       const v1::GetWebhookRequest* request,
                                       v1::GetWebhookResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.WebhookService.GetWebhook",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_ASSIGN_OR_RETURN(const auto record, hooks().GetWebhook(request->id()));
                      *response->mutable_webhook() = WebhookToProto(record);
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* PostWebhook(grpc::CallbackServerContext* context,
                                        const v1::PostWebhookRequest* request,
                                        v1::PostWebhookResponse* response) {
    return UnaryOnceNow(
        edge_, context, request, response, "det.api.v1.WebhookService.PostWebhook",
        [this, request, response](const auth::Principal& principal) -> absl::Status {
          DET_RETURN_IF_ERROR(CheckMayChange(principal, request->webhook().workspace_id()));
          DET_ASSIGN_OR_RETURN(const auto wanted, WebhookFromProto(request->webhook()));
          DET_RETURN_IF_ERROR(CheckPatterns(wanted));
          DET_ASSIGN_OR_RETURN(const auto made, hooks().AddWebhook(wanted));
          edge_.webhooks->Changed();
          *response->mutable_webhook() = WebhookToProto(made);
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* PatchWebhook(grpc::CallbackServerContext* context,
                                         const v1::PatchWebhookRequest* request,
                                         v1::PatchWebhookResponse*) {
    return UnaryNow(
        edge_, context, request, "det.api.v1.WebhookService.PatchWebhook",
        [this, request](const auth::Principal& principal) { return Patch(*request, principal); });
  }

  grpc::ServerUnaryReactor* DeleteWebhook(grpc::CallbackServerContext* context,
                                          const v1::DeleteWebhookRequest* request,
                                          v1::DeleteWebhookResponse*) {
    return UnaryNow(edge_, context, request, "det.api.v1.WebhookService.DeleteWebhook",
                    [this, request](const auth::Principal& principal) -> absl::Status {
                      DET_RETURN_IF_ERROR(ReadToChange(request->id(), principal).status());
                      DET_RETURN_IF_ERROR(hooks().DeleteWebhook(request->id()));
                      edge_.webhooks->Changed();
                      return absl::OkStatus();
                    });
  }

  grpc::ServerUnaryReactor* TestWebhook(grpc::CallbackServerContext* context,
                                        const v1::TestWebhookRequest* request,
                                        v1::TestWebhookResponse* response) {
    return UnaryOnce(edge_, context, request, response, "det.api.v1.WebhookService.TestWebhook",
                     [this, request, response](const auth::Principal& principal, Done done) {
                       Test(request->id(), principal, response, std::move(done));
                     });
  }

  grpc::ServerUnaryReactor* GetWebhookDeliveries(grpc::CallbackServerContext* context,
                                                 const v1::GetWebhookDeliveriesRequest* request,
                                                 v1::GetWebhookDeliveriesResponse* response) {
    return UnaryNow(edge_, context, request, "det.api.v1.WebhookService.GetWebhookDeliveries",
                    [this, request, response](const auth::Principal&) -> absl::Status {
                      DET_RETURN_IF_ERROR(hooks().GetWebhook(request->id()).status());
                      return ReadDeliveries(*request, response);
                    });
  }

  grpc::ServerUnaryReactor* PostWebhookEventData(grpc::CallbackServerContext* context,
                                                 const v1::PostWebhookEventDataRequest* request,
                                                 v1::PostWebhookEventDataResponse* response) {
    return UnaryOnceNow(edge_, context, request, response,
                        "det.api.v1.WebhookService.PostWebhookEventData",
                        [this, request](const auth::Principal&) { return Tell(*request); });
  }

 private:
  store::Webhooks& hooks() { return edge_.store->webhooks(); }

  absl::Status ReadDeliveries(const v1::GetWebhookDeliveriesRequest& request,
                              v1::GetWebhookDeliveriesResponse* response) {
    DET_ASSIGN_OR_RETURN(const int total, hooks().CountDeliveries(request.id()));
    const int page =
        request.limit() == 0 ? kDeliveriesPage : std::min(request.limit(), kLongestDeliveriesPage);
    const bool ascending = request.order_by() == v1::ORDER_BY_ASC;
    const store::Window window = NewestFirst({request.offset(), page}, ascending, total);
    DET_ASSIGN_OR_RETURN(auto found,
                         hooks().ListDeliveries(request.id(), window.limit, window.offset));
    if (ascending) std::reverse(found.begin(), found.end());
    for (const auto& each : found) *response->add_deliveries() = DeliveryToProto(each);
    *response->mutable_pagination() =
        ToPagination(request.offset(), page, response->deliveries_size(), total);
    return absl::OkStatus();
  }

  // The triggers that a webhook is to have; those that it has already have their ids.
  absl::StatusOr<std::vector<store::TriggerRecord>> ReadNewTriggers(
      const v1::PatchWebhook& given, const store::WebhookRecord& now) {
    store::WebhookRecord wanted;
    DET_RETURN_IF_ERROR(ReadTriggers(given.triggers(), &wanted));
    wanted.id = now.id;
    wanted.workspace = now.workspace;
    DET_RETURN_IF_ERROR(CheckPatterns(wanted));
    std::vector<store::TriggerRecord> had = now.triggers;
    for (store::TriggerRecord& each : wanted.triggers) {
      const auto same = std::find_if(had.begin(), had.end(), [&](const auto& other) {
        return other.type == each.type && other.condition == each.condition;
      });
      if (same == had.end()) continue;
      each.id = same->id;
      had.erase(same);
    }
    return std::move(wanted.triggers);
  }

  // Every line of a log is held against all patterns of its workspace. With `wanted` in place of
  // the webhook of its id, if it has one.
  absl::Status CheckPatterns(const store::WebhookRecord& wanted) {
    const auto patterns = [](const store::WebhookRecord& webhook) {
      return std::count_if(webhook.triggers.begin(), webhook.triggers.end(), [](const auto& each) {
        return each.type == model::WebhookTrigger::kTaskLog;
      });
    };
    if (patterns(wanted) == 0) return absl::OkStatus();
    DET_ASSIGN_OR_RETURN(const auto all, hooks().ListWebhooks());
    int64_t sum = patterns(wanted);
    for (const store::WebhookRecord& each : all) {
      if (each.workspace == wanted.workspace && each.id != wanted.id) sum += patterns(each);
    }
    if (sum <= kMostPatterns) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("triggers: with these ",
                     wanted.workspace == 0 ? std::string("the webhooks of no workspace")
                                           : absl::StrCat("workspace ", wanted.workspace),
                     " would have ", sum, " patterns for log lines; at most ", kMostPatterns,
                     " are allowed: delete webhooks, or join patterns by |"));
  }

  absl::StatusOr<store::WebhookRecord> ReadToChange(int32_t id, const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(store::WebhookRecord record, hooks().GetWebhook(id));
    DET_RETURN_IF_ERROR(CheckMayChange(principal, record.workspace));
    return record;
  }

  absl::Status Patch(const v1::PatchWebhookRequest& request, const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(const store::WebhookRecord now, ReadToChange(request.id(), principal));
    store::WebhookPatch patch;
    if (!request.webhook().triggers().empty()) {
      DET_ASSIGN_OR_RETURN(patch.triggers, ReadNewTriggers(request.webhook(), now));
    }
    if (request.webhook().has_name()) {
      DET_RETURN_IF_ERROR(CheckWebhookName(request.webhook().name()));
      patch.name = request.webhook().name();
    }
    // Older clients cannot leave it out.
    if (!request.webhook().url().empty() || (!patch.name && !patch.triggers)) {
      DET_RETURN_IF_ERROR(webhooks::CheckUrl(request.webhook().url()));
      patch.url = request.webhook().url();
    }
    DET_RETURN_IF_ERROR(hooks().ChangeWebhook(request.id(), patch).status());
    edge_.webhooks->Changed();
    return absl::OkStatus();
  }

  void Test(int32_t id, const auth::Principal& principal, v1::TestWebhookResponse* response,
            Done done) {
    const absl::StatusOr<store::WebhookRecord> record = ReadToChange(id, principal);
    if (!record.ok()) return done(record.status());
    edge_.deliverer->Try(*record, [response, done = std::move(done)](absl::Status sent) mutable {
      response->set_completed(sent.ok());
      if (sent.ok() || absl::IsCancelled(sent)) return done(std::move(sent));
      done(absl::FailedPreconditionError(
          absl::StrCat("the test was not received: ", sent.message())));
    });
  }

  absl::Status Tell(const v1::PostWebhookEventDataRequest& request) {
    const v1::CustomWebhookEventData& data = request.data();
    if (data.title().size() + data.description().size() > kAlertLimit) {
      return absl::InvalidArgumentError(
          absl::StrCat("data: title and description have more than ", kAlertLimit, " bytes"));
    }
    model::Value::Object facts = {{"level", LevelOf(data.level())},
                                  {"title", data.title()},
                                  {"description", data.description()}};
    if (request.trial_id() > 0) facts["trial_id"] = int64_t{request.trial_id()};
    return edge_.webhooks->Tell(model::ExperimentId(request.experiment_id()),
                                {{"custom_trigger", std::move(facts)}});
  }

  const Edge& edge_;
};

}  // namespace

std::unique_ptr<Service> MakeWebhookService(const Edge& edge) {
  return std::make_unique<WebhookService>(edge);
}

}  // namespace det::api
