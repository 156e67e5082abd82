#include "base/objects/service.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/objects/encode.h"
#include "base/status_macros.h"

namespace det::objects {
namespace {

constexpr int kMostParts = 9000;  // S3 takes 10,000
constexpr size_t kLongestWords = 300;

// Credentials that were good and no longer are.
bool IsStale(const HttpAnswer& answer) {
  if (answer.status == 401) return true;
  if (answer.status != 400 && answer.status != 403) return false;
  const std::string code = XmlValue(answer.body, "Code");
  return code == "ExpiredToken" || code == "TokenRefreshRequired" || code == "InvalidToken";
}

// What the server says of its refusal.
std::string WordsOf(const HttpAnswer& answer) {
  const std::string code = XmlValue(answer.body, "Code"), said = XmlValue(answer.body, "Message");
  if (!code.empty()) return absl::StrCat(code, ": ", said).substr(0, kLongestWords);
  return answer.header("x-ms-error-code");
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

std::string RangeOf(int64_t offset, int64_t length) {
  return absl::StrCat("bytes=", offset, "-", offset + length - 1);
}

Service::Service(std::string address, std::string name, std::unique_ptr<Signer> signer,
                 Patience patience)
    : address_(std::move(address)),
      host_(address_.substr(address_.find("://") + 3)),
      name_(std::move(name)),
      signer_(std::move(signer)),
      patience_(patience) {}

void Service::MoveTo(std::string address) {
  address_ = std::move(address);
  host_ = address_.substr(address_.find("://") + 3);
}

absl::StatusOr<HttpAnswer> Service::SendOnce(const Call& call) {
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

absl::StatusOr<HttpAnswer> Service::Send(const Call& call) {
  absl::Duration pause = patience_.first_pause;
  bool renewed = false;
  for (int tries = 1;; ++tries) {
    absl::StatusOr<HttpAnswer> answer = SendOnce(call);
    const bool passes = answer.ok() ? answer->passes() : absl::IsUnavailable(answer.status());
    const bool stale = answer.ok() && IsStale(*answer) && !std::exchange(renewed, true);
    if (stale) signer_->Renew();
    if ((!passes && !stale) || tries >= patience_.tries) {
      if (answer.ok()) return answer;
      return absl::Status(answer.status().code(),
                          absl::StrCat(name_, " at ", address_, ": ", answer.status().message()));
    }
    if (stale) continue;
    absl::SleepFor(pause);
    pause *= 2;
  }
}

absl::Status Service::Judge(const std::string& doing, const HttpAnswer& answer) const {
  if (answer.ok()) return absl::OkStatus();
  const std::string words = WordsOf(answer);
  const std::string what =
      absl::StrCat(name_, " at ", address_, ": cannot ", doing, ": it answered ", answer.status,
                   words.empty() ? "" : " ", words);
  const bool no_bucket =
      absl::StrContains(words, "NoSuchBucket") || absl::StrContains(words, "ContainerNotFound");
  if (no_bucket) {
    return absl::FailedPreconditionError(absl::StrCat(what, "; make it, or name another"));
  }
  if (answer.status == 404) return absl::NotFoundError(what);
  if (answer.status == 401 || answer.status == 403) {
    return absl::PermissionDeniedError(
        absl::StrCat(what, "; check the credentials, and what they may do there"));
  }
  if (answer.passes()) return absl::UnavailableError(what);
  return absl::FailedPreconditionError(what);
}

absl::StatusOr<std::string> Service::TakeRange(const std::string& doing, HttpAnswer answer,
                                               int64_t offset, int64_t length) const {
  if (answer.status == 416) return "";  // It ends before.
  DET_RETURN_IF_ERROR(Judge(doing, answer));
  const auto begin = static_cast<size_t>(offset), most = static_cast<size_t>(length);
  // Some do not know ranges, and send all of it.
  if (answer.status != 206) {
    return begin < answer.body.size() ? answer.body.substr(begin, most) : std::string();
  }
  if (answer.body.size() <= most) return std::move(answer.body);
  return absl::FailedPreconditionError(absl::StrCat(name_, " at ", address_, ": cannot ", doing,
                                                    ": it sent ", answer.body.size(),
                                                    " bytes where ", length, " were asked for"));
}

absl::Status Listing::Add(std::vector<std::string> keys, const std::string& next) {
  for (std::string& key : keys) keys_.push_back(std::move(key));
  if (keys_.size() > kMostKeys || (!next.empty() && next == next_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the list does not end after ", keys_.size(), " keys"));
  }
  next_ = next;
  return absl::OkStatus();
}

absl::StatusOr<HttpAnswer> Service::Ask(const std::string& doing, const Call& call) {
  DET_ASSIGN_OR_RETURN(HttpAnswer answer, Send(call));
  DET_RETURN_IF_ERROR(Judge(doing, answer));
  return answer;
}

absl::StatusOr<std::optional<std::string>> ReadSmall(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return CannotRead(path);
  const int64_t size = in.tellg();
  if (size > kPartSize) return std::nullopt;
  std::string content(static_cast<size_t>(size), '\0');
  in.seekg(0);
  if (!in.read(content.data(), size)) return CannotRead(path);
  return content;
}

absl::Status InParts(const std::string& path,
                     const std::function<absl::Status(int, absl::string_view)>& put) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return CannotRead(path);
  const int64_t size = in.tellg();
  const int64_t part = std::max(kPartSize, size / kMostParts + 1);
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
