#include "agent/runner/master_client.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include <nlohmann/json.hpp>

namespace det::agent {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kMaxPause = absl::Seconds(5);

std::string GetVariable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the message of an error that the master sent.
std::string ReadMessage(const HttpResponse& response) {
  const auto json = nlohmann::json::parse(response.body, nullptr, /*allow_exceptions=*/false);
  if (json.is_object() && json.contains("message") && json["message"].is_string()) {
    return json["message"];
  }
  return absl::StrCat("HTTP status ", response.status);
}

// Returns whether another attempt may succeed: the master does not lead, is overloaded or failed.
bool IsTemporary(int status) { return status >= 500 || status == 408 || status == 429; }

}  // namespace

absl::StatusOr<MasterClient> MasterClient::FromEnvironment() {
  MasterClient client;
  const std::string first = GetVariable("DET_MASTER");
  client.token_ = GetVariable("DET_SESSION_TOKEN");
  if (first.empty() || client.token_.empty()) {
    return absl::FailedPreconditionError(
        "DET_MASTER and DET_SESSION_TOKEN are not set; this program is started by resolute-agent");
  }
  client.urls_.push_back(first);
  const std::string all = GetVariable("DET_MASTERS");
  for (const absl::string_view url : absl::StrSplit(all, ',', absl::SkipEmpty())) {
    if (url != first) client.urls_.emplace_back(url);
  }
  client.tls_ = {.authority_file = GetVariable("DET_MASTER_CERT_FILE"),
                 .server_name = GetVariable("DET_MASTER_CERT_NAME")};
  return client;
}

absl::Status MasterClient::Send(const std::string& verb, const std::string& path,
                                const std::string& body) {
  absl::Status status;
  for (size_t i = 0; i < urls_.size(); ++i) {
    const absl::StatusOr<HttpResponse> response =
        agent::Send({.url = urls_[i] + path,
                     .verb = verb,
                     .headers = {absl::StrCat("Grpc-Metadata-x-allocation-token: Bearer ", token_)},
                     .body = body,
                     .tls = tls_});
    status = response.status();
    if (!response.ok()) continue;
    status = absl::UnavailableError(absl::StrCat("HTTP status ", response->status));
    if (IsTemporary(response->status)) continue;
    std::rotate(urls_.begin(), urls_.begin() + static_cast<std::ptrdiff_t>(i), urls_.end());
    if (response->status < 300) return absl::OkStatus();
    return absl::FailedPreconditionError(ReadMessage(*response));
  }
  return status;
}

absl::Status MasterClient::SendWithRetry(const std::string& verb, const std::string& path,
                                         const std::string& body) {
  absl::Duration pause = kFirstPause;
  while (true) {
    const absl::Status status = Send(verb, path, body);
    if (!absl::IsUnavailable(status)) return status;
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kMaxPause);
  }
}

}  // namespace det::agent
