#include "cli/http_client.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/curl_transfer.h"
#include "cli/interrupt.h"
#include "cli/tls_verifier.h"
#include "cli/trusted_certificates.h"
#include <curl/curl.h>

namespace det::cli {
namespace {

bool IsTls(const std::string& url) { return absl::StartsWith(url, "https://"); }

template <class T>
T GetInfo(CURL* easy, CURLINFO info) {
  T value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

CurlList MakeHeaders(const HttpCall& call) {
  curl_slist* list = nullptr;
  const auto add = [&](const std::string& line) { list = curl_slist_append(list, line.c_str()); };
  add(absl::StrCat("Host: ", call.url.substr(call.url.find("://") + strlen("://"))));
  add("Accept: application/json");
  add("Connection: close");
  add("Expect:");  // no wait for "100 Continue"
  add(call.body.empty() ? "Content-Type:" : "Content-Type: application/json");
  if (!call.token.empty()) add(absl::StrCat("Authorization: Bearer ", call.token));
  if (!call.key.empty()) add(absl::StrCat("Idempotency-Key: ", call.key));
  return CurlList(list);
}

// One request from its connection to the end of its response.
class Transfer {
 public:
  Transfer(const HttpCall& call, BodySink sink)
      : call_(call), sink_(sink), set_(NewTransferSet()), easy_(NewTransfer()) {
    curl_easy_setopt(easy_.get(), CURLOPT_URL, call.url.c_str());
    curl_easy_setopt(easy_.get(), CURLOPT_ERRORBUFFER, error_);
    curl_easy_setopt(easy_.get(), CURLOPT_WRITEFUNCTION, TakeBody);
    curl_easy_setopt(easy_.get(), CURLOPT_WRITEDATA, this);
  }
  ~Transfer() { curl_multi_remove_handle(set_.get(), easy_.get()); }
  Transfer(const Transfer&) = delete;

  CURL* easy() { return easy_.get(); }

  void SetRequest() {
    headers_ = MakeHeaders(call_);
    curl_easy_setopt(easy(), CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(easy(), CURLOPT_REQUEST_TARGET, call_.target.c_str());
    if (!call_.body.empty() || call_.verb == "POST" || call_.verb == "PUT" ||
        call_.verb == "PATCH") {
      curl_easy_setopt(easy(), CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(call_.body.size()));
      curl_easy_setopt(easy(), CURLOPT_POSTFIELDS, call_.body.c_str());
    } else if (call_.verb == "HEAD") {
      curl_easy_setopt(easy(), CURLOPT_NOBODY, 1L);
    }
    curl_easy_setopt(easy(), CURLOPT_CUSTOMREQUEST, call_.verb.c_str());
  }

  // Runs the transfer. Returns its result, or the reason why it was ended early.
  absl::StatusOr<CURLcode> Run() {
    curl_multi_add_handle(set_.get(), easy());
    while (true) {
      int running = 0;
      curl_multi_perform(set_.get(), &running);
      if (running == 0) break;
      DET_ASSIGN_OR_RETURN(const absl::Duration wait, CheckLimits());
      WaitForTransfers(set_.get(), wait, interrupted_);
    }
    int pending = 0;
    const CURLMsg* const message = curl_multi_info_read(set_.get(), &pending);
    return message == nullptr ? CURLE_FAILED_INIT : message->data.result;
  }

  // Returns the status of a failed transfer. `tls`: nullptr without TLS.
  absl::Status ToStatus(CURLcode code, const TlsVerifier* tls) const {
    if (!sink_status_.ok()) return sink_status_;
    const std::string text = *error_ != 0 ? error_ : curl_easy_strerror(code);
    switch (code) {
      case CURLE_COULDNT_RESOLVE_HOST:
        return absl::UnavailableError(text);
      case CURLE_COULDNT_CONNECT: {
        const long error = GetInfo<long>(easy_.get(), CURLINFO_OS_ERRNO);
        return absl::UnavailableError(error == 0 ? text : strerror(static_cast<int>(error)));
      }
      case CURLE_OPERATION_TIMEDOUT:  // of the connection: other limits are in CheckLimits()
        if (GetInfo<curl_off_t>(easy_.get(), CURLINFO_CONNECT_TIME_T) > 0) {
          return absl::DeadlineExceededError("timed out");
        }
        return absl::UnavailableError(
            absl::StrCat("no response in ", absl::FormatDuration(kConnectTimeout)));
      case CURLE_UNSUPPORTED_PROTOCOL:  // text without an HTTP header
      case CURLE_WEIRD_SERVER_REPLY:
        return absl::FailedPreconditionError(
            absl::StrCat(call_.url,
                         " is not a master: what answers there is not an HTTP server; "
                         "name the master with -m or DET_MASTER"));
      default:
        break;
    }
    const bool connected = GetInfo<curl_off_t>(easy_.get(), CURLINFO_PRETRANSFER_TIME_T) > 0;
    if (tls != nullptr && !connected) return tls->ToStatus(text);
    return absl::AbortedError(text);
  }

 private:
  static size_t TakeBody(char* data, size_t size, size_t count, void* user) {
    auto* const self = static_cast<Transfer*>(user);
    const auto status = static_cast<int>(GetInfo<long>(self->easy(), CURLINFO_RESPONSE_CODE));
    self->sink_status_ = self->sink_(status, {data, size * count});
    return self->sink_status_.ok() ? size * count : CURL_WRITEFUNC_ERROR;
  }

  bool IsSent() {
    return GetInfo<long>(easy(), CURLINFO_REQUEST_SIZE) > 0 &&
           GetInfo<curl_off_t>(easy(), CURLINFO_SIZE_UPLOAD_T) >=
               static_cast<curl_off_t>(call_.body.size());
  }

  // Returns how long the transfer may wait now, or why it must end.
  absl::StatusOr<absl::Duration> CheckLimits() {
    const absl::Time now = absl::Now();
    if (Interrupted()) {
      const bool awaits = call_.after_interrupt > absl::ZeroDuration() && IsSent();
      if (!interrupted_ && !awaits) return CheckInterrupt();
      if (!interrupted_) deadline_ = now + call_.after_interrupt;
      interrupted_ = true;
    }
    const int64_t bytes = GetInfo<curl_off_t>(easy(), CURLINFO_SIZE_UPLOAD_T) +
                          GetInfo<curl_off_t>(easy(), CURLINFO_SIZE_DOWNLOAD_T) +
                          GetInfo<long>(easy(), CURLINFO_REQUEST_SIZE) +
                          GetInfo<long>(easy(), CURLINFO_HEADER_SIZE);
    const bool connected = GetInfo<curl_off_t>(easy(), CURLINFO_PRETRANSFER_TIME_T) > 0;
    // The connection has its own limit, kConnectTimeout.
    if (bytes != bytes_ || !connected) last_data_ = now;
    bytes_ = bytes;
    const absl::Time end = std::min(deadline_, last_data_ + call_.timeout);
    if (now >= end) return absl::DeadlineExceededError("timed out");
    return end - now;
  }

  const HttpCall& call_;
  const BodySink sink_;
  CurlMulti set_;
  CurlEasy easy_;
  CurlList headers_;
  char error_[CURL_ERROR_SIZE] = "";
  absl::Status sink_status_;
  bool interrupted_ = false;
  absl::Time deadline_ = absl::InfiniteFuture();  // after an interrupt
  absl::Time last_data_ = absl::Now();
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<ServerCertificate> FetchCertificate(const std::string& url) {
  TlsVerifier tls(url, {.verify = false});
  const HttpCall call = {.url = url};
  const auto sink = [](int, absl::string_view) { return absl::OkStatus(); };
  Transfer transfer(call, sink);
  tls.Configure(transfer.easy());
  curl_easy_setopt(transfer.easy(), CURLOPT_CONNECT_ONLY, 1L);
  DET_ASSIGN_OR_RETURN(const CURLcode code, transfer.Run());
  if (code != CURLE_OK) return transfer.ToStatus(code, &tls);
  return ServerCertificate{tls.certificate(), tls.fingerprint()};
}

absl::StatusOr<int> CallHttp(const HttpCall& call, BodySink sink) {
  std::optional<TlsVerifier> tls;
  Transfer transfer(call, sink);
  if (IsTls(call.url)) {
    DET_ASSIGN_OR_RETURN(Trust trust, GetTrust(call.url));
    tls.emplace(call.url, std::move(trust)).Configure(transfer.easy());
  }
  transfer.SetRequest();
  DET_ASSIGN_OR_RETURN(const CURLcode code, transfer.Run());
  if (code != CURLE_OK) return transfer.ToStatus(code, tls ? &*tls : nullptr);
  return static_cast<int>(GetInfo<long>(transfer.easy(), CURLINFO_RESPONSE_CODE));
}

}  // namespace det::cli
