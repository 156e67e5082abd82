// det webhook list|list-triggers|create|edit|delete|test|deliveries
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "cli/command.h"
#include "cli/commands/struct_text.h"
#include "cli/commands/workspace.h"
#include "cli/format.h"
#include "cli/table.h"
#include "det/api/v1/webhook.pb.h"

namespace det::cli {
namespace {

using api::v1::Webhook;

const Positional kWebhook = {"WEBHOOK_ID", "Webhook ID"};

// "WEBHOOK_TYPE_SLACK" -> "SLACK".
std::string TrimPrefix(const std::string& name, absl::string_view prefix) {
  return absl::StartsWith(name, prefix) ? name.substr(prefix.size()) : name;
}
std::string TrimTriggerPrefix(api::v1::TriggerType type) {
  return TrimPrefix(api::v1::TriggerType_Name(type), "TRIGGER_TYPE_");
}

// Returns "https://hooks.slack.com/…", because the path and user info can contain secrets.
std::string RedactUrl(const std::string& url) {
  const size_t host = url.find("://");
  if (host == url.npos) return "…";
  const size_t begin = host + 3;
  const size_t end = url.find_first_of("/?#", begin);
  std::string name = url.substr(begin, end == url.npos ? end : end - begin);
  const size_t at = name.rfind('@');
  if (at != name.npos) name = absl::StrCat("…@", name.substr(at + 1));
  const bool more = end != url.npos && end + 1 < url.size();
  return absl::StrCat(url.substr(0, begin), name, more ? "/…" : "");
}

std::string FormatTriggers(const Webhook& webhook) {
  std::vector<std::string> words;
  for (const auto& each : webhook.triggers()) {
    const std::string condition = FormatStruct(each.condition());
    words.push_back(condition == "-" ? TrimTriggerPrefix(each.trigger_type()) : condition);
  }
  return absl::StrJoin(words, ", ");
}

absl::StatusOr<int> RunWebhookList(Invocation& run) {
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetWebhooksResponse response;
  DET_RETURN_IF_ERROR(
      api->Call("WebhookService.GetWebhooks", api::v1::GetWebhooksRequest(), &response));
  Table table({{"ID", true},
               {"NAME"},
               {"WORKSPACE ID", true},
               {"TYPE"},
               {"MODE"},
               {"URL", false, true},
               {"TRIGGERS", false, true}});
  for (const Webhook& each : response.webhooks()) {
    table.AddRow({absl::StrCat(each.id()), each.name(),
                  each.workspace_id() == 0 ? "all" : absl::StrCat(each.workspace_id()),
                  TrimPrefix(api::v1::WebhookType_Name(each.webhook_type()), "WEBHOOK_TYPE_"),
                  TrimPrefix(api::v1::WebhookMode_Name(each.mode()), "WEBHOOK_MODE_"),
                  RedactUrl(each.url()), FormatTriggers(each)});
  }
  return run.PrintList(response, table, "no webhooks; create one: det webhook create NAME URL");
}

api::v1::Trigger& AddTrigger(Webhook& webhook, api::v1::TriggerType type) {
  api::v1::Trigger& trigger = *webhook.add_triggers();
  trigger.set_trigger_type(type);
  return trigger;
}

void SetText(api::v1::Trigger& trigger, const std::string& key, const std::string& text) {
  (*trigger.mutable_condition()->mutable_fields())[key].set_string_value(text);
}

// Parses "accuracy > 0.95".
absl::Status AddMetric(const Invocation& run, const std::string& text, Webhook& webhook) {
  const size_t at = text.find_first_of("<>");
  const size_t after = at == text.npos ? at : text.find_first_not_of("<>=", at);
  double value = 0;
  if (at == text.npos || after == text.npos || !absl::SimpleAtod(text.substr(after), &value)) {
    return UsageError(absl::StrCat("--metric: expected \"NAME > NUMBER\", found \"", text, "\""));
  }
  api::v1::Trigger& trigger = AddTrigger(webhook, api::v1::TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED);
  SetText(trigger, "metric", std::string(absl::StripAsciiWhitespace(text.substr(0, at))));
  const std::string op(absl::StripAsciiWhitespace(text.substr(at, after - at)));
  SetText(trigger, "op", op);
  SetText(trigger, "group", run.args.Get("metric-group").value_or("validation"));
  (*trigger.mutable_condition()->mutable_fields())["value"].set_number_value(value);
  return absl::OkStatus();
}

absl::Status AddTriggers(const Invocation& run, Webhook& webhook) {
  for (const std::string& state : run.args.GetAll("state")) {
    SetText(AddTrigger(webhook, api::v1::TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE), "state",
            absl::AsciiStrToUpper(state));
  }
  for (const std::string& text : run.args.GetAll("metric")) {
    DET_RETURN_IF_ERROR(AddMetric(run, text, webhook));
  }
  for (const std::string& regex : run.args.GetAll("log")) {
    SetText(AddTrigger(webhook, api::v1::TRIGGER_TYPE_TASK_LOG), "regex", regex);
  }
  if (run.args.Has("custom")) AddTrigger(webhook, api::v1::TRIGGER_TYPE_CUSTOM);
  return absl::OkStatus();
}

absl::StatusOr<Webhook> GetWebhook(const ApiClient& api, int id) {
  api::v1::GetWebhookRequest request;
  request.set_id(id);
  api::v1::GetWebhookResponse response;
  DET_RETURN_IF_ERROR(api.Call("WebhookService.GetWebhook", request, &response));
  return response.webhook();
}

absl::StatusOr<int> RunListTriggers(Invocation& run) {
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("WEBHOOK_ID"));
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  DET_ASSIGN_OR_RETURN(const Webhook webhook, GetWebhook(*api, id));
  Table table({{"ID", true}, {"EVENT"}, {"CONDITION", false, true}});
  for (const api::v1::Trigger& each : webhook.triggers()) {
    table.AddRow({absl::StrCat(each.id()), TrimTriggerPrefix(each.trigger_type()),
                  FormatStruct(each.condition())});
  }
  return run.PrintList(webhook, table, absl::StrCat("webhook ", id, " has no triggers"));
}

absl::StatusOr<int> RunWebhookCreate(Invocation& run) {
  api::v1::PostWebhookRequest request;
  Webhook& webhook = *request.mutable_webhook();
  webhook.set_name(run.args.Word("NAME"));
  webhook.set_url(run.args.Word("URL"));
  webhook.set_webhook_type(run.args.Has("slack") ? api::v1::WEBHOOK_TYPE_SLACK
                                                 : api::v1::WEBHOOK_TYPE_DEFAULT);
  webhook.set_mode(run.args.Has("specific") ? api::v1::WEBHOOK_MODE_SPECIFIC
                                            : api::v1::WEBHOOK_MODE_WORKSPACE);
  DET_RETURN_IF_ERROR(AddTriggers(run, webhook));
  if (webhook.triggers().empty()) {
    return UsageError(
        "webhook create needs at least one trigger: --state, --metric, --log, --custom");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (const auto name = run.args.Get("workspace")) {
    DET_ASSIGN_OR_RETURN(const auto workspace, FindWorkspace(*api, *name));
    webhook.set_workspace_id(workspace.id());
  }
  api::v1::PostWebhookResponse response;
  DET_RETURN_IF_ERROR(api->Call("WebhookService.PostWebhook", request, &response));
  for (const std::string& warning : response.warnings()) run.screen->PrintNotice(warning);
  if (!run.json())
    run.screen->PrintHint(absl::StrCat("det webhook test ", response.webhook().id()));
  return run.PrintResult(response, absl::StrCat("created webhook ", response.webhook().id(), "\n"));
}

// Returns the new triggers: the present ones without the removed ones, and the added ones.
absl::StatusOr<Webhook> ChangedTriggers(const Invocation& run, Webhook present,
                                        const Webhook& added) {
  for (const std::string& word : run.args.GetAll("remove-trigger")) {
    auto& triggers = *present.mutable_triggers();
    const auto it = std::find_if(triggers.begin(), triggers.end(),
                                 [&](const auto& each) { return absl::StrCat(each.id()) == word; });
    if (it == triggers.end()) {
      return absl::NotFoundError(absl::StrCat("webhook ", present.id(), " has no trigger ", word,
                                              "; `det webhook list-triggers ", present.id(),
                                              "` lists them"));
    }
    triggers.erase(it);
  }
  present.mutable_triggers()->MergeFrom(added.triggers());
  if (present.triggers().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("webhook ", present.id(),
                     " would have no triggers left; delete it with `det webhook delete`"));
  }
  return present;
}

absl::StatusOr<int> RunWebhookEdit(Invocation& run) {
  api::v1::PatchWebhookRequest request;
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("WEBHOOK_ID"));
  request.set_id(id);
  Webhook added;
  DET_RETURN_IF_ERROR(AddTriggers(run, added));
  const bool triggers = !added.triggers().empty() || run.args.Has("remove-trigger");
  if (!run.args.Has("url") && !run.args.Has("name") && !triggers) {
    return UsageError(
        "webhook edit: nothing to change; give at least one of --url, --name, --remove-trigger, "
        "--state, --metric, --log, --custom");
  }
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  if (triggers) {
    DET_ASSIGN_OR_RETURN(const Webhook present, GetWebhook(*api, id));
    DET_ASSIGN_OR_RETURN(const Webhook changed, ChangedTriggers(run, present, added));
    *request.mutable_webhook()->mutable_triggers() = changed.triggers();
  }
  request.mutable_webhook()->set_url(run.args.Get("url").value_or(""));
  if (const auto name = run.args.Get("name")) request.mutable_webhook()->set_name(*name);
  api::v1::PatchWebhookResponse response;
  DET_RETURN_IF_ERROR(api->Call("WebhookService.PatchWebhook", request, &response));
  return run.PrintResult(response, absl::StrCat("changed webhook ", id, "\n"));
}

template <class Request, class Response>
absl::StatusOr<int> CallForWebhook(Invocation& run, const char* method, const char* done) {
  Request request;
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("WEBHOOK_ID"));
  request.set_id(id);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  Response response;
  DET_RETURN_IF_ERROR(api->Call(method, request, &response));
  return run.PrintResult(response, absl::StrCat(done, " webhook ", id, "\n"));
}

absl::StatusOr<int> RunWebhookDelete(Invocation& run) {
  return CallForWebhook<api::v1::DeleteWebhookRequest, api::v1::DeleteWebhookResponse>(
      run, "WebhookService.DeleteWebhook", "deleted");
}

absl::StatusOr<int> RunTest(Invocation& run) {
  return CallForWebhook<api::v1::TestWebhookRequest, api::v1::TestWebhookResponse>(
      run, "WebhookService.TestWebhook", "reached");
}

absl::StatusOr<int> RunDeliveries(Invocation& run) {
  api::v1::GetWebhookDeliveriesRequest request;
  DET_ASSIGN_OR_RETURN(const int id, run.args.Id("WEBHOOK_ID"));
  request.set_id(id);
  DET_ASSIGN_OR_RETURN(ApiClient * api, run.GetApi());
  api::v1::GetWebhookDeliveriesResponse response;
  DET_RETURN_IF_ERROR(api->Call("WebhookService.GetWebhookDeliveries", request, &response));
  Table table({{"ID", true},
               {"EVENT"},
               {"STATE"},
               {"CREATED"},
               {"ATTEMPTS", true},
               {"NEXT ATTEMPT", false},
               {"ERROR", false, true}});
  const absl::Time now = absl::Now();
  for (const auto& each : response.deliveries()) {
    table.AddRow({absl::StrCat(each.id()), TrimTriggerPrefix(each.trigger_type()),
                  std::string(TrimStatePrefix(api::v1::WebhookDelivery::State_Name(each.state()))),
                  MakeAgeCell(each.raised_at(), now), absl::StrCat(each.attempts()),
                  each.has_next_at() ? FormatTimestamp(each.next_at()) : "-",
                  each.error().empty() ? "-" : each.error()});
  }
  return run.PrintList(response, table, "no deliveries yet");
}

}  // namespace

std::vector<Command> WebhookCommands() {
  const std::vector<Option> triggers = {
      {"state", 0, "STATE", "Trigger when an experiment enters STATE (ERROR, ...); repeatable"},
      {"metric", 0, "TEXT", "Trigger when a metric passes a bound: \"acc > 0.9\"; repeatable"},
      {"metric-group", 0, "GROUP", "Metric group of --metric (default: validation)"},
      {"log", 0, "REGEX", "Trigger when a line of a trial's log matches; repeatable"},
      {"custom", 0, "", "Trigger on core_context.alert; needs --specific"}};
  std::vector<Option> create = {
      {"workspace", 'w', "NAME", "Only experiments of this workspace (default: all)"}};
  create.insert(create.end(), triggers.begin(), triggers.end());
  create.insert(create.end(),
                {{"slack", 0, "", "Send messages in Slack's format"},
                 {"specific", 0, "", "Only experiments whose config names the webhook"}});
  std::vector<Option> edit = {
      {"url", 0, "URL", "New URL; also used for pending deliveries"},
      {"name", 0, "NAME", "New name"},
      {"remove-trigger", 0, "ID", "Remove this trigger, see list-triggers; repeatable"}};
  edit.insert(edit.end(), triggers.begin(), triggers.end());
  return {
      {{"webhook", "list"}, "List the webhooks that you can view", {}, {kCsv}, RunWebhookList, ""},
      {{"webhook", "list-triggers"},
       "List the triggers of a webhook",
       {kWebhook},
       {kCsv},
       RunListTriggers,
       ""},
      {{"webhook", "create"},
       "Create a webhook that notifies a URL of events",
       {{"NAME", "Webhook name, unique in its workspace"},
        {"URL", "URL to notify (http or https); it can contain a secret"}},
       create,
       RunWebhookCreate,
       "A webhook without a workspace is for cluster administrators."},
      {{"webhook", "edit"},
       "Change the URL, name or triggers of a webhook",
       {kWebhook},
       edit,
       RunWebhookEdit,
       ""},
      {{"webhook", "delete"},
       "Delete a webhook and its pending deliveries",
       {kWebhook},
       {},
       RunWebhookDelete,
       ""},
      {{"webhook", "test"}, "Send a test event to a webhook", {kWebhook}, {}, RunTest, ""},
      {{"webhook", "deliveries"},
       "List recent and pending deliveries of a webhook",
       {kWebhook},
       {kCsv},
       RunDeliveries,
       ""},
  };
}

}  // namespace det::cli
