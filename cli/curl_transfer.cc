#include "cli/curl_transfer.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "cli/interrupt.h"
#include <curl/curl.h>

namespace det::cli {
namespace {

template <class Handle>
Handle* CheckMemory(Handle* handle) {
  if (handle == nullptr) std::abort();
  return handle;
}

}  // namespace

void CurlEasyDeleter::operator()(void* easy) const { curl_easy_cleanup(easy); }
void CurlMultiDeleter::operator()(void* multi) const { curl_multi_cleanup(multi); }
void CurlListDeleter::operator()(curl_slist* list) const { curl_slist_free_all(list); }

CurlEasy NewTransfer() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  CurlEasy easy(CheckMemory(curl_easy_init()));
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "det");
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(kConnectTimeout)));
  return easy;
}

CurlMulti NewTransferSet() { return CurlMulti(CheckMemory(curl_multi_init())); }

void WaitForTransfers(void* set, absl::Duration timeout, bool ignore_interrupt) {
  const absl::Duration bounded = std::clamp(timeout, absl::ZeroDuration(), absl::Hours(1));
  const int milliseconds =
      static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(bounded, absl::Milliseconds(1))));
  curl_waitfd interrupt = {InterruptFd(), CURL_WAIT_POLLIN, 0};
  const unsigned fds = ignore_interrupt || InterruptFd() < 0 ? 0 : 1;
  curl_multi_poll(set, &interrupt, fds, milliseconds, nullptr);
}

}  // namespace det::cli
