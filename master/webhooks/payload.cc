#include "master/webhooks/payload.h"

#include <algorithm>
#include <utility>

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

std::string MakeSentence(const store::DeliveryRecord& delivery) {
  const Value& data = delivery.data;
  switch (delivery.trigger) {
    case WebhookTrigger::kExperimentStateChange:
      return absl::StrCat("is ", GetText(data, "experiment", "state"));
    case WebhookTrigger::kMetricThresholdExceeded:
      return absl::StrCat("trial ", GetText(data, "metric", "trial_id"), ": ",
                          GetText(data, "metric", "name"), " is ", GetText(data, "metric", "value"),
                          " after ", GetText(data, "metric", "steps_completed"), " steps");
    case WebhookTrigger::kTaskLog:
      return absl::StrCat("trial ", GetText(data, "task_log", "trial_id"),
                          " wrote: ", GetText(data, "task_log", "triggering_log"));
    case WebhookTrigger::kCustom:
      break;
  }
  return absl::StrCat(GetText(data, "custom_trigger", "level"), " ",
                      GetText(data, "custom_trigger", "title"), "\n",
                      GetText(data, "custom_trigger", "description"));
}

std::string MakeSlackBody(const store::DeliveryRecord& delivery, const std::string& base_url) {
  const std::string name =
      Escape(absl::StrCat("experiment ", GetText(delivery.data, "experiment", "id"), " \"",
                          GetText(delivery.data, "experiment", "name"), "\""));
  const std::string link = MakeLink(delivery.data, base_url);
  const std::string sentence = EscapeStart(MakeSentence(delivery));
  const std::string text =
      absl::StrCat(link.empty() ? name : absl::StrCat("<", link, "|", name, ">"), " ", sentence);
  Value section = Value::Object{{"type", "section"},
                                {"text", Value::Object{{"type", "mrkdwn"}, {"text", text}}}};
  return Value(Value::Object{{"text", absl::StrCat(name, " ", sentence)},
                             {"blocks", Value::List{std::move(section)}}})
      .ToJson();
}

}  // namespace

std::string MakeBody(store::WebhookType type, const store::DeliveryRecord& delivery,
                     const std::string& base_url) {
  if (type == store::WebhookType::kSlack) return MakeSlackBody(delivery, base_url);
  Value::Object body = {{"event_id", delivery.event_id},
                        {"event_type", std::string(ToString(delivery.trigger))},
                        {"timestamp", absl::ToUnixSeconds(delivery.raised_at)},
                        {"condition", delivery.condition},
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
