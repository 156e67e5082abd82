#include "cli/api_client.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "cli/interrupt.h"
#include "cli/leader_probe.h"
#include "cli/terminal.h"
#include "det/access.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "nlohmann/json.hpp"
#include "proto/http_rule.h"

namespace det::cli {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

constexpr absl::string_view kPackage = "det.api.v1.";
// A master that cannot reach its database uses similar words, so the prefix must match exactly.
constexpr absl::string_view kUnreachablePrefix = "cannot reach the master";
// ABORTED as HTTP 409 means that the same call can succeed when it is repeated.
constexpr int kAborted = static_cast<int>(absl::StatusCode::kAborted);
// After this silence the next master is tried: this one may be stopped or cut off.
constexpr absl::Duration kNextMasterTimeout = absl::Seconds(10);

absl::StatusCode ToStatusCode(int http) {
  switch (http) {
    case 400:
    case 413:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
    case 410:
      return absl::StatusCode::kNotFound;
    case 409:
    case 412:
      return absl::StatusCode::kFailedPrecondition;
    case 499:  // A master that shuts down cancels its running calls.
      return absl::StatusCode::kAborted;
    case 501:
      return absl::StatusCode::kUnimplemented;
    case 502:
    case 503:
    case 504:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

// Returns the text of an error body, {"error": {"error": "text"}} or similar; empty if there is
// none.
std::string ErrorText(const std::string& body) {
  const auto value = nlohmann::json::parse(body, nullptr, false);
  if (!value.is_object()) return "";
  const nlohmann::json* at = &value;
  for (const char* key : {"error", "error"}) {
    if (at->is_object() && at->contains(key)) at = &at->at(key);
  }
  if (at->is_string()) return at->get<std::string>();
  if (at->is_object() && at->contains("message") && at->at("message").is_string()) {
    return at->at("message").get<std::string>();
  }
  return "";
}

absl::StatusOr<HttpCall> MakeCall(absl::string_view name, const Message& request) {
  const MethodDescriptor* method =
      DescriptorPool::generated_pool()->FindMethodByName(absl::StrCat(kPackage, name));
  if (method == nullptr) return absl::InternalError(absl::StrCat("unknown method: ", name));
  DET_ASSIGN_OR_RETURN(proto::HttpRequest http, proto::ToHttp(*method, request));
  HttpCall call;
  call.verb = std::move(http.verb);
  call.target = std::move(http.path);
  call.body = std::move(http.body);
  return call;
}

// Returns the code of an error body, {"error": {"code": 14}}; 0 if there is none.
int CodeInBody(const std::string& body) {
  const auto value = nlohmann::json::parse(body, nullptr, false);
  const auto at = nlohmann::json::json_pointer("/error/code");
  if (!value.is_object() || !value.contains(at) || !value.at(at).is_number_integer()) return 0;
  return value.at(at).get<int>();
}

// Returns the code of an error in a stream, where the HTTP status has already been sent.
absl::StatusCode CodeInStream(const std::string& line) {
  const auto code = static_cast<absl::StatusCode>(CodeInBody(line));
  if (code == absl::StatusCode::kOk) return absl::StatusCode::kUnknown;
  return code == absl::StatusCode::kCancelled ? absl::StatusCode::kAborted : code;
}

// Parses one line of a stream: {"result": {...}}, or an error.
absl::Status ParseStreamLine(absl::string_view line, Message* message) {
  absl::string_view result = line;
  if (absl::ConsumePrefix(&result, "{\"result\":") && absl::ConsumeSuffix(&result, "}")) {
    message->Clear();
    return proto::FromJson({result.data(), result.size()}, message);
  }
  const std::string text = ErrorText(std::string(line));
  return absl::Status(CodeInStream(std::string(line)),
                      text.empty() ? "the master sent an invalid line in a stream" : text);
}

}  // namespace

bool IsUnreachable(const absl::Status& status) {
  return absl::IsUnavailable(status) && absl::StartsWith(status.message(), kUnreachablePrefix);
}

namespace {

bool IsJson(absl::string_view body) { return nlohmann::json::accept(body.begin(), body.end()); }

// Returns `a page "Title"` for HTML, the beginning of other text, or "an empty body".
std::string DescribeBody(const std::string& body) {
  constexpr size_t kMaxText = 60;
  const std::string lower = absl::AsciiStrToLower(body);
  const size_t title = lower.find("<title>");
  const size_t end = lower.find("</title>");
  if (title != lower.npos && end != lower.npos && title < end) {
    const size_t start = title + strlen("<title>");
    return absl::StrCat(
        "a page \"", RemoveControlCharacters(body.substr(start, std::min(end - start, kMaxText))),
        "\"");
  }
  const absl::string_view text = absl::StripAsciiWhitespace(body);
  if (text.empty()) return "an empty body";
  const absl::string_view line = text.substr(0, std::min(text.find_first_of("\r\n"), kMaxText));
  return absl::StrCat("\"", RemoveControlCharacters(std::string(line)), "\"");
}

// The error for a response that a master does not send. A proxy in front of a master that is away
// sends such responses, too: their codes stay.
absl::Status NotAMasterError(const std::string& url, int http, const std::string& body) {
  const absl::StatusCode code =
      http / 100 == 5 ? ToStatusCode(http) : absl::StatusCode::kFailedPrecondition;
  return absl::Status(code,
                      absl::StrCat(url, " is not a master: it answered HTTP ", http, " with ",
                                   DescribeBody(body), "; name the master with -m or DET_MASTER"));
}

// Returns a new idempotency key for a method that creates something; empty for other methods.
// Repeated requests with one key create one object. The master rejects keys of other methods, by
// the same option.
std::string NewIdempotencyKey(absl::string_view method) {
  const MethodDescriptor* descriptor =
      DescriptorPool::generated_pool()->FindMethodByName(absl::StrCat(kPackage, method));
  const bool creates =
      descriptor != nullptr && descriptor->options().GetExtension(det::access).idempotent();
  return creates ? base::NewUuid() : "";
}

// True for a master that cannot decide whether it leads, or hangs: another master is tried.
bool ShouldTryNextMaster(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::Status ExplainStatus(const std::string& url, absl::Status status) {
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(absl::StrCat(
        kUnreachablePrefix, " at ", url, " (", absl::AsciiStrToLower(status.message()),
        "); start one with `det deploy local up`, or name another with -m or DET_MASTER"));
  }
  if (absl::IsAborted(status)) {
    return absl::AbortedError(absl::StrCat("the connection to the master at ", url, " was lost (",
                                           status.message(), ")"));
  }
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(absl::StrCat("the master at ", url, " does not answer"));
  }
  return status;
}

}  // namespace

absl::Status GetResponseError(const std::string& url, int http, const std::string& body) {
  if (!IsJson(body)) return NotAMasterError(url, http, body);
  std::string text = ErrorText(body);
  if (text.empty()) text = absl::StrCat("the master returned HTTP ", http);
  const bool again = http == 409 && CodeInBody(body) == kAborted;
  return absl::Status(again ? absl::StatusCode::kAborted : ToStatusCode(http), text);
}

absl::Status ApiClient::CallLeader(
    absl::FunctionRef<absl::Status(const std::string& url)> ask) const {
  if (urls_.size() == 1) return ask(urls_[0]);
  if (const size_t known = *leader_; known != kUnknownLeader) {
    absl::Status status = ask(urls_[known]);
    if (!ShouldTryNextMaster(status)) return status;
    *leader_ = kUnknownLeader;
  }
  absl::Status first_status;  // status of the first master that responded
  LeaderProbe probe(urls_);
  while (true) {
    DET_ASSIGN_OR_RETURN(const std::optional<size_t> next, probe.Next());
    if (!next) break;
    absl::Status status = ask(urls_[*next]);
    if (!ShouldTryNextMaster(status)) {
      *leader_ = *next;
      return status;
    }
    if (first_status.ok() && !IsUnreachable(status)) first_status = status;
  }
  if (!first_status.ok()) return first_status;
  return absl::UnavailableError(absl::StrCat(kUnreachablePrefix, "s at ",
                                             absl::StrJoin(urls_, ", "),
                                             "; check that one of them is running"));
}

absl::Status ApiClient::CallAuthenticated(absl::FunctionRef<absl::Status()> ask) const {
  while (true) {
    const std::string used = token();
    absl::Status status = ask();
    if (!absl::IsUnauthenticated(status) || credential_ == nullptr) return status;
    // The loop ends because a token is replaced at most once.
    DET_RETURN_IF_ERROR(credential_->Replace(used, status));
  }
}

absl::Status ApiClient::CallOnce(const std::string& url, absl::string_view method,
                                 const std::string& key, const Message& request, Message* response,
                                 absl::Duration after_interrupt) const {
  DET_ASSIGN_OR_RETURN(HttpCall call, MakeCall(method, request));
  call.url = url;
  call.token = token();
  call.key = key;
  call.after_interrupt = after_interrupt;
  if (urls_.size() > 1) call.timeout = kNextMasterTimeout;
  std::string body;
  const absl::StatusOr<int> http = CallHttp(call, [&](int, absl::string_view piece) {
    absl::StrAppend(&body, piece);
    return absl::OkStatus();
  });
  if (!http.ok()) return ExplainStatus(url, http.status());
  if (*http / 100 != 2) return GetResponseError(url, *http, body);
  if (!IsJson(body)) return NotAMasterError(url, *http, body);
  return proto::FromJson(body, response);
}

absl::Status ApiClient::Call(absl::string_view method, const Message& request, Message* response,
                             absl::Duration after_interrupt) const {
  const std::string key = NewIdempotencyKey(method);
  absl::Duration pause = absl::Milliseconds(100);
  bool reached = false;
  while (true) {
    absl::Status status = CallAuthenticated([&] {
      return CallLeader([&](const std::string& url) {
        return CallOnce(url, method, key, request, response, after_interrupt);
      });
    });
    const bool passing = absl::IsUnavailable(status) || absl::IsAborted(status);
    reached = reached || !IsUnreachable(status);
    if (!passing || !reached || pause > absl::Seconds(4)) return status;
    if (const absl::Status waited = WaitFor(-1, 0, pause); absl::IsCancelled(waited)) {
      return after_interrupt > absl::ZeroDuration() ? status : waited;
    }
    pause *= 2;
  }
}

absl::Status ApiClient::Stream(absl::string_view method, const Message& request, Message* message,
                               absl::FunctionRef<bool()> each) const {
  bool received = false;
  const auto take = [&] {
    received = true;
    return each();
  };
  const auto ask = [&](const std::string& url) {
    const absl::Status status = StreamOnce(url, method, request, message, take);
    // Another master would send the stream from its beginning; only the caller knows whether that
    // is acceptable.
    return received && absl::IsUnavailable(status) ? absl::AbortedError(status.message()) : status;
  };
  return CallAuthenticated([&] { return CallLeader(ask); });
}

absl::StatusOr<int> ApiClient::Send(const std::string& verb, const std::string& target,
                                    const std::string& body, BodySink sink) const {
  int answered = 0;
  const auto ask = [&](const std::string& url) -> absl::Status {
    HttpCall call{.url = url, .verb = verb, .target = target, .token = token(), .body = body};
    call.timeout = absl::InfiniteDuration();
    const absl::StatusOr<int> http = CallHttp(call, sink);
    if (!http.ok()) return ExplainStatus(url, http.status());
    answered = *http;
    return absl::OkStatus();
  };
  DET_RETURN_IF_ERROR(CallLeader(ask));
  return answered;
}

absl::Status ApiClient::StreamOnce(const std::string& url, absl::string_view method,
                                   const Message& request, Message* message,
                                   absl::FunctionRef<bool()> each) const {
  DET_ASSIGN_OR_RETURN(HttpCall call, MakeCall(method, request));
  call.url = url;
  call.token = token();
  call.timeout = absl::InfiniteDuration();
  std::string pending;
  bool ended = false;
  absl::Status sent;  // An error that the master sent as a message of the stream.
  const auto take = [&](int http, absl::string_view piece) -> absl::Status {
    absl::StrAppend(&pending, piece);
    if (http != 200) return absl::OkStatus();
    size_t start = 0;
    for (size_t end; (end = pending.find('\n', start)) != pending.npos; start = end + 1) {
      const absl::string_view line =
          absl::StripAsciiWhitespace(absl::string_view(pending).substr(start, end - start));
      if (line.empty()) continue;
      if (!IsJson(line)) return NotAMasterError(url, http, pending);
      sent = ParseStreamLine(line, message);
      DET_RETURN_IF_ERROR(sent);
      if (each()) continue;
      ended = true;
      return absl::CancelledError("enough");
    }
    pending.erase(0, start);
    return absl::OkStatus();
  };
  const absl::StatusOr<int> http = CallHttp(call, take);
  if (ended) return absl::OkStatus();
  DET_RETURN_IF_ERROR(sent);
  if (!http.ok()) return ExplainStatus(url, http.status());
  if (*http != 200) return GetResponseError(url, *http, pending);
  // A master ends each line of a stream.
  const bool rest = !absl::StripAsciiWhitespace(pending).empty();
  if (rest && !IsJson(pending)) return NotAMasterError(url, *http, pending);
  return absl::OkStatus();
}

}  // namespace det::cli
