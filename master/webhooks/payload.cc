#include "master/webhooks/payload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "master/auth/tokens.h"
#include "master/core/model/value.h"

namespace det::webhooks {
namespace {

using model::Value;
using model::WebhookTrigger;

// "" where there is none; numbers as people write them.
std::string TextAt(const Value& data, std::string_view outer, std::string_view key) {
  const Value* part = data.Find(outer);
  const Value* found = part == nullptr ? nullptr : part->Find(key);
  if (found == nullptr || found->is_null()) return "";
  return found->AsString() != nullptr ? *found->AsString() : found->ToJson();
}

std::string LinkOf(const Value& data, const std::string& base_url) {
  const std::string id = TextAt(data, "experiment", "id");
  if (base_url.empty() || id.empty()) return "";
  const bool slash = base_url.back() == '/';
  return absl::StrCat(base_url, slash ? "" : "/", "det/experiments/", id);
}

// Its own marks would be read as such.
std::string Escape(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// Escaped, and no longer than that: Slack refuses sections of more than 3,000 characters.
std::string EscapeStart(std::string text) {
  constexpr size_t kMost = 2'000;
  std::string escaped = Escape(text);
  while (escaped.size() > kMost) {
    // In whole characters: bytes that go on are 10xxxxxx.
    size_t end = text.size() - std::max<size_t>(1, (escaped.size() - kMost) / 5);
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    text.resize(end);
    escaped = Escape(text) + "...";
  }
  return escaped;
}

std::string Sentence(const store::DeliveryRecord& delivery) {
  const Value& data = delivery.data;
  switch (delivery.trigger) {
    case WebhookTrigger::kExperimentStateChange:
      return absl::StrCat("is ", TextAt(data, "experiment", "state"));
    case WebhookTrigger::kMetricThresholdExceeded:
      return absl::StrCat("trial ", TextAt(data, "metric", "trial_id"), ": ",
                          TextAt(data, "metric", "name"), " is ", TextAt(data, "metric", "value"),
                          " after ", TextAt(data, "metric", "steps_completed"), " steps");
    case WebhookTrigger::kTaskLog:
      return absl::StrCat("trial ", TextAt(data, "task_log", "trial_id"),
                          " wrote: ", TextAt(data, "task_log", "triggering_log"));
    case WebhookTrigger::kCustom:
      break;
  }
  return absl::StrCat(TextAt(data, "custom_trigger", "level"), " ",
                      TextAt(data, "custom_trigger", "title"), "\n",
                      TextAt(data, "custom_trigger", "description"));
}

std::string SlackBody(const store::DeliveryRecord& delivery, const std::string& base_url) {
  const std::string name =
      Escape(absl::StrCat("experiment ", TextAt(delivery.data, "experiment", "id"), " \"",
                          TextAt(delivery.data, "experiment", "name"), "\""));
  const std::string link = LinkOf(delivery.data, base_url);
  const std::string words = EscapeStart(Sentence(delivery));
  const std::string text =
      absl::StrCat(link.empty() ? name : absl::StrCat("<", link, "|", name, ">"), " ", words);
  Value section = Value::Object{{"type", "section"},
                                {"text", Value::Object{{"type", "mrkdwn"}, {"text", text}}}};
  return Value(Value::Object{{"text", absl::StrCat(name, " ", words)},
                             {"blocks", Value::List{std::move(section)}}})
      .ToJson();
}

}  // namespace

std::string MakeBody(store::WebhookType type, const store::DeliveryRecord& delivery,
                     const std::string& base_url) {
  if (type == store::WebhookType::kSlack) return SlackBody(delivery, base_url);
  Value::Object body = {{"event_id", delivery.event_id},
                        {"event_type", std::string(ToString(delivery.trigger))},
                        {"timestamp", absl::ToUnixSeconds(delivery.raised_at)},
                        {"condition", delivery.condition},
                        {"event_data", delivery.data}};
  const std::string link = LinkOf(delivery.data, base_url);
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
