#include "base/objects/rest_client.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/objects/encode.h"
#include "base/status_macros.h"

namespace det::objects {
namespace {

constexpr int kMaxParts = 9000;  // S3 accepts 10,000
constexpr size_t kMaxMessageLength = 300;

// Returns whether the server reports that the credentials have expired.
bool IsStale(const HttpResponse& response) {
  if (response.status == 401) return true;
  if (response.status != 400 && response.status != 403) return false;
  const std::string code = XmlValue(response.body, "Code");
  return code == "ExpiredToken" || code == "TokenRefreshRequired" || code == "InvalidToken";
}

// Returns the server's error message.
std::string GetErrorMessage(const HttpResponse& response) {
  const std::string code = XmlValue(response.body, "Code");
  if (!code.empty())
    return absl::StrCat(code, ": ", XmlValue(response.body, "Message"))
        .substr(0, kMaxMessageLength);
  return response.header("x-ms-error-code");
}

absl::Status CannotRead(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
}

}  // namespace

std::string QueryText(const Pairs& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    absl::StrAppend(&text, text.empty() ? "" : "&", PercentEncode(name), "=", PercentEncode(value));
  }
  return text;
}

std::string FormatRange(int64_t offset, int64_t length) {
  return absl::StrCat("bytes=", offset, "-", offset + length - 1);
}

RestClient::RestClient(std::string address, std::string name, std::unique_ptr<Signer> signer,
                       RetryPolicy retry_policy)
    : address_(std::move(address)),
      host_(address_.substr(address_.find("://") + 3)),
      name_(std::move(name)),
      signer_(std::move(signer)),
      retry_policy_(retry_policy) {}

void RestClient::SetAddress(std::string address) {
  address_ = std::move(address);
  host_ = address_.substr(address_.find("://") + 3);
}

absl::StatusOr<HttpResponse> RestClient::SendOnce(const Call& call) {
  Call signed_call = call;
  DET_RETURN_IF_ERROR(signer_->Sign(signed_call, host_, absl::Now()));
  HttpRequest request;
  request.method = signed_call.method;
  request.url = address_ + signed_call.path;
  if (!signed_call.query.empty()) request.url += "?" + QueryText(signed_call.query);
  request.headers = std::move(signed_call.headers);
  request.body = call.body;
  return http_.Send(request);
}

absl::StatusOr<HttpResponse> RestClient::Send(const Call& call) {
  absl::Duration pause = retry_policy_.initial_delay;
  bool renewed = false;
  for (int attempts = 1;; ++attempts) {
    absl::StatusOr<HttpResponse> response = SendOnce(call);
    const bool transient =
        response.ok() ? response->is_retryable() : absl::IsUnavailable(response.status());
    const bool stale = response.ok() && IsStale(*response) && !std::exchange(renewed, true);
    if (stale) signer_->RefreshCredentials();
    if ((!transient && !stale) || attempts >= retry_policy_.max_attempts) {
      if (response.ok()) return response;
      return absl::Status(response.status().code(),
                          absl::StrCat(name_, " at ", address_, ": ", response.status().message()));
    }
    if (stale) continue;
    absl::SleepFor(pause);
    pause *= 2;
  }
}

absl::Status RestClient::ToStatus(const std::string& operation,
                                  const HttpResponse& response) const {
  if (response.ok()) return absl::OkStatus();
  const std::string message = GetErrorMessage(response);
  const std::string text =
      absl::StrCat(name_, " at ", address_, ": cannot ", operation, ": HTTP status ",
                   response.status, message.empty() ? "" : " ", message);
  const bool no_bucket =
      absl::StrContains(message, "NoSuchBucket") || absl::StrContains(message, "ContainerNotFound");
  if (no_bucket) {
    return absl::FailedPreconditionError(absl::StrCat(text, "; create it, or use another"));
  }
  if (response.status == 404) return absl::NotFoundError(text);
  if (response.status == 401 || response.status == 403) {
    return absl::PermissionDeniedError(
        absl::StrCat(text, "; check the credentials and their permissions"));
  }
  if (response.is_retryable()) return absl::UnavailableError(text);
  return absl::FailedPreconditionError(text);
}

absl::StatusOr<std::string> RestClient::ExtractRange(const std::string& operation,
                                                     HttpResponse response, int64_t offset,
                                                     int64_t length) const {
  if (response.status == 416) return "";  // The object ends before the range.
  DET_RETURN_IF_ERROR(ToStatus(operation, response));
  const auto begin = static_cast<size_t>(offset);
  const auto max_size = static_cast<size_t>(length);
  // Some servers ignore ranges and send the whole object.
  if (response.status != 206) {
    return begin < response.body.size() ? response.body.substr(begin, max_size) : std::string();
  }
  if (response.body.size() <= max_size) return std::move(response.body);
  return absl::FailedPreconditionError(absl::StrCat(name_, " at ", address_, ": cannot ", operation,
                                                    ": the server sent ", response.body.size(),
                                                    " bytes instead of ", length));
}

absl::Status Listing::Add(std::vector<std::string> keys, const std::string& next) {
  for (std::string& key : keys) keys_.push_back(std::move(key));
  if (keys_.size() > kMaxKeys || (!next.empty() && next == next_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server's list does not end after ", keys_.size(), " keys"));
  }
  next_ = next;
  return absl::OkStatus();
}

absl::StatusOr<HttpResponse> RestClient::SendChecked(const std::string& operation,
                                                     const Call& call) {
  DET_ASSIGN_OR_RETURN(HttpResponse response, Send(call));
  DET_RETURN_IF_ERROR(ToStatus(operation, response));
  return response;
}

absl::StatusOr<std::optional<std::string>> ReadSmallFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return CannotRead(path);
  const int64_t size = in.tellg();
  if (size > kPartSize) return std::nullopt;
  std::string content(static_cast<size_t>(size), '\0');
  in.seekg(0);
  if (!in.read(content.data(), size)) return CannotRead(path);
  return content;
}

absl::Status ForEachPart(const std::string& path,
                         const std::function<absl::Status(int, absl::string_view)>& put) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return CannotRead(path);
  const int64_t size = in.tellg();
  const int64_t part = std::max(kPartSize, size / kMaxParts + 1);
  in.seekg(0);
  std::string content;
  for (int64_t at = 0, number = 1; at < size; at += part, ++number) {
    content.resize(static_cast<size_t>(std::min(part, size - at)));
    if (!in.read(content.data(), static_cast<std::streamsize>(content.size()))) {
      return CannotRead(path);
    }
    DET_RETURN_IF_ERROR(put(static_cast<int>(number), content));
  }
  return absl::OkStatus();
}

}  // namespace det::objects
