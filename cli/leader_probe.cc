#include "cli/leader_probe.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include <curl/curl.h>

namespace det::cli {
namespace {

// The same delay as between the addresses of one host (RFC 8305, "Happy Eyeballs").
constexpr absl::Duration kStagger = absl::Milliseconds(250);
constexpr absl::Duration kTimeout = absl::Seconds(10);

size_t TakeHeader(char*, size_t size, size_t count, void* responded) {
  *static_cast<bool*>(responded) = true;
  return size * count;
}

size_t IgnoreBody(char*, size_t size, size_t count, void*) { return size * count; }

// A server that does not use TLS, or not this version, has responded too: the call reports the
// error.
bool IsResponse(CURLcode code) { return code == CURLE_OK || code == CURLE_SSL_CONNECT_ERROR; }

}  // namespace

LeaderProbe::LeaderProbe(const std::vector<std::string>& urls) : set_(NewTransferSet()) {
  probes_.resize(urls.size());
  for (size_t i = 0; i < urls.size(); ++i) probes_[i].url = urls[i];
}

LeaderProbe::~LeaderProbe() {
  for (Probe& probe : probes_) Finish(probe);
}

absl::StatusOr<std::optional<size_t>> LeaderProbe::Next() {
  const absl::Time deadline = absl::Now() + kTimeout;
  while (true) {
    int running = 0;
    curl_multi_perform(set_.get(), &running);
    if (const std::optional<size_t> found = TakeResponse()) return found;
    const bool waiting = std::any_of(probes_.begin(), probes_.end(),
                                     [](const Probe& probe) { return probe.transfer != nullptr; });
    const absl::Time now = absl::Now();
    if (started_ < probes_.size() && (!waiting || now >= next_start_)) {
      StartNext();
      continue;
    }
    if (!waiting || now >= deadline) return std::nullopt;
    DET_RETURN_IF_ERROR(CheckInterrupt());
    const absl::Time end = started_ < probes_.size() ? std::min(deadline, next_start_) : deadline;
    WaitForTransfers(set_.get(), end - now);
  }
}

void LeaderProbe::StartNext() {
  Probe& probe = probes_[started_++];
  next_start_ = absl::Now() + kStagger;
  probe.transfer = NewTransfer();
  CURL* const easy = probe.transfer.get();
  curl_easy_setopt(easy, CURLOPT_URL, absl::StrCat(probe.url, "/health").c_str());
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &probe.responded);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, IgnoreBody);
  curl_multi_add_handle(set_.get(), easy);
}

void LeaderProbe::Finish(Probe& probe) {
  if (probe.transfer == nullptr) return;
  curl_multi_remove_handle(set_.get(), probe.transfer.get());
  probe.transfer.reset();
}

std::optional<size_t> LeaderProbe::TakeResponse() {
  int pending = 0;
  while (const CURLMsg* const message = curl_multi_info_read(set_.get(), &pending)) {
    if (message->msg != CURLMSG_DONE) continue;
    for (Probe& probe : probes_) {
      if (probe.transfer.get() != message->easy_handle) continue;
      probe.ended = true;
      probe.responded = probe.responded || IsResponse(message->data.result);
    }
  }
  for (size_t i = 0; i < probes_.size(); ++i) {
    Probe& probe = probes_[i];
    if (probe.transfer == nullptr || !(probe.responded || probe.ended)) continue;
    Finish(probe);
    if (probe.responded) return i;
  }
  return std::nullopt;
}

}  // namespace det::cli
