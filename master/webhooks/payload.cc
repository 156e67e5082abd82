#include "master/webhooks/payload.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "master/auth/tokens.h"
#include "master/core/model/value.h"

namespace det::webhooks {
namespace {

using model::Value;
using model::WebhookTrigger;

// "" if absent; numbers in short decimal form.
std::string GetText(const Value& data, std::string_view outer, std::string_view key) {
  const Value* part = data.Find(outer);
  const Value* found = part == nullptr ? nullptr : part->Find(key);
  if (found == nullptr || found->is_null()) return "";
  return found->AsString() != nullptr ? *found->AsString() : found->ToJson();
}

std::string GetCondition(const store::DeliveryRecord& delivery, std::string_view key) {
  const Value* found = delivery.condition.Find(key);
  return found == nullptr || found->AsString() == nullptr ? "" : *found->AsString();
}

std::string MakeLink(const Value& data, const std::string& base_url) {
  const std::string id = GetText(data, "experiment", "id");
  if (base_url.empty() || id.empty()) return "";
  const bool slash = base_url.back() == '/';
  return absl::StrCat(base_url, slash ? "" : "/", "det/experiments/", id);
}

// Escapes characters that are markup in Slack.
std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// Escaped and truncated: Slack rejects sections of more than 3,000 characters.
std::string EscapeStart(std::string text) {
  constexpr size_t kMaxTextBytes = 2'000;
  std::string escaped = Escape(text);
  while (escaped.size() > kMaxTextBytes) {
    // Truncates at a UTF-8 character boundary.
    size_t end = text.size() - std::max<size_t>(1, (escaped.size() - kMaxTextBytes) / 5);
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    escaped = Escape(text) + "...";
  }
  return escaped;
}

Value MakeText(const char* type, const std::string& text) {
  return Value::Object{{"type", type}, {"text", text}};
}
Value MakeSection(Value text) {
  return Value::Object{{"type", "section"}, {"text", std::move(text)}};
}

// "<LINK|NAME (#7)>", or without a link "NAME (#7)".
std::string MakeTitle(const Value& data, const std::string& base_url) {
  const std::string title = absl::StrCat(Escape(GetText(data, "experiment", "name")), " (#",
                                         GetText(data, "experiment", "id"), ")");
  const std::string link = MakeLink(data, base_url);
  return link.empty() ? title : absl::StrCat("<", link, "|", title, ">");
}

// "1h 5min"
std::string FormatDuration(const Value& data) {
  const Value* experiment = data.Find("experiment");
  const Value* found = experiment == nullptr ? nullptr : experiment->Find("duration");
  const int64_t seconds = found == nullptr || found->AsInt() == nullptr ? 0 : *found->AsInt();
  return absl::StrCat(seconds / 3600, "h ", seconds / 60 % 60, "min");
}

struct StateStyle {
  std::string headline, emoji, color;
};
StateStyle GetStyle(const std::string& state) {
  if (state == "COMPLETED") return {"Your experiment completed successfully 🎉", "✅", "#13B670"};
  if (state == "ERROR") return {"Your experiment has stopped with errors", "❌", "#DD5040"};
  return {absl::StrCat("Your experiment is ", state), "ℹ️", "#5B6B88"};
}

Value MakeStateMessage(const Value& data, const std::string& base_url) {
  const std::string state = GetText(data, "experiment", "state");
  const StateStyle style = GetStyle(state);
  std::string status = absl::AsciiStrToLower(state);
  if (!status.empty()) status[0] = absl::ascii_toupper(static_cast<unsigned char>(status[0]));
  Value::List fields = {MakeText("mrkdwn", absl::StrCat("*Status*: ", status)),
                        MakeText("mrkdwn", absl::StrCat("*Duration*: ", FormatDuration(data)))};
  for (const auto& [name, label] :
       {std::pair("workspace", "Workspace"), std::pair("project", "Project")}) {
    const std::string value = GetText(data, "experiment", name);
    if (value.empty()) continue;
    fields.push_back(MakeText("mrkdwn", absl::StrCat("*", label, "*: ", Escape(value))));
  }
  Value details =
      MakeSection(MakeText("mrkdwn", absl::StrCat(style.emoji, " ", MakeTitle(data, base_url))));
  (*details.MutableObject())["fields"] = std::move(fields);
  return Value::Object{
      {"text", style.headline},
      {"blocks", Value::List{MakeSection(MakeText("plain_text", style.headline))}},
      {"attachments", Value::List{Value::Object{{"color", style.color},
                                                {"blocks", Value::List{std::move(details)}}}}}};
}

// The text of an event that has no Slack message with blocks.
std::string MakeSentence(const store::DeliveryRecord& delivery) {
  const Value& data = delivery.data;
  switch (delivery.trigger) {
    case WebhookTrigger::kMetricThresholdExceeded:
      return absl::StrCat("Trial ", GetText(data, "metric", "trial_id"), ": ",
                          GetText(data, "metric", "name"), " is ", GetText(data, "metric", "value"),
                          " after ", GetText(data, "metric", "steps_completed"),
                          GetText(data, "metric", "steps_completed") == "1" ? " step" : " steps");
    case WebhookTrigger::kTaskLog:
      return absl::StrCat("Trial ", GetText(data, "task_log", "trial_id"), " on node ",
                          GetText(data, "task_log", "node_name"), " wrote:\n",
                          GetText(data, "task_log", "triggering_log"),
                          "\nThis log matched the regex\n", GetCondition(delivery, "regex"));
    default:
      break;
  }
  return absl::StrCat(GetText(data, "custom_data", "level"), " ",
                      GetText(data, "custom_data", "title"), "\n",
                      GetText(data, "custom_data", "description"));
}

Value MakeSlackMessage(const store::DeliveryRecord& delivery, const std::string& base_url) {
  const Value& data = delivery.data;
  if (data.Find("experiment") == nullptr) {
    return Value::Object{{"blocks", Value::List{MakeSection(MakeText("plain_text", "test"))}}};
  }
  if (delivery.trigger == WebhookTrigger::kExperimentStateChange) {
    return MakeStateMessage(data, base_url);
  }
  const std::string sentence = EscapeStart(MakeSentence(delivery));
  return Value::Object{
      {"text", absl::StrCat(MakeTitle(data, ""), "\n", sentence)},
      {"blocks", Value::List{MakeSection(MakeText(
                     "mrkdwn", absl::StrCat(MakeTitle(data, base_url), "\n", sentence)))}}};
}

}  // namespace

std::string MakeBody(store::WebhookType type, const store::DeliveryRecord& delivery,
                     const std::string& base_url) {
  if (type == store::WebhookType::kSlack) return MakeSlackMessage(delivery, base_url).ToJson();
  Value condition = delivery.condition;
  // Existing receivers read the state of the experiment there.
  if (delivery.trigger == WebhookTrigger::kCustom) {
    condition = Value::Object{{"state", GetText(delivery.data, "experiment", "state")}};
  }
  Value::Object body = {{"event_id", delivery.event_id},
                        {"event_type", std::string(ToString(delivery.trigger))},
                        {"timestamp", absl::ToUnixSeconds(delivery.raised_at)},
                        {"condition", std::move(condition)},
                        {"event_data", delivery.data}};
  const std::string link = MakeLink(delivery.data, base_url);
  if (!link.empty()) body["link"] = link;
  return Value(std::move(body)).ToJson();
}

std::vector<std::string> MakeHeaders(std::string_view body, absl::Time now,
                                     std::string_view signing_key) {
  const std::string seconds = absl::StrCat(absl::ToUnixSeconds(now));
  const std::string signature =
      auth::HmacSha256Hex(signing_key, absl::StrCat(seconds, ",", std::string(body)));
  return {"Content-Type: application/json",
          absl::StrCat("X-Determined-AI-Signature-Timestamp: ", seconds),
          absl::StrCat("X-Determined-AI-Signature: ", signature)};
}

}  // namespace det::webhooks
