// RAII handles of libcurl, and a wait for transfers that an interrupt ends.
// Used by http_client and leader_probe. Each handle is used on one thread.
#ifndef CLI_CURL_TRANSFER_H_
#define CLI_CURL_TRANSFER_H_

#include <memory>

#include "absl/time/time.h"

struct curl_slist;

namespace det::cli {

// libcurl's handles CURL and CURLM are both `void`, so each type names its deleter.
struct CurlEasyDeleter {
  void operator()(void* easy) const;
};
struct CurlMultiDeleter {
  void operator()(void* multi) const;
};
struct CurlListDeleter {
  void operator()(curl_slist* list) const;
};
using CurlEasy = std::unique_ptr<void, CurlEasyDeleter>;
using CurlMulti = std::unique_ptr<void, CurlMultiDeleter>;
using CurlList = std::unique_ptr<curl_slist, CurlListDeleter>;

// Time for a connection including the TLS handshake.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(10);

// Returns a handle with the settings that all requests of det share. Initializes libcurl before the
// first handle. Never returns nullptr: without memory the process ends.
CurlEasy NewTransfer();
CurlMulti NewTransferSet();

// Waits until a transfer of the set can proceed or `timeout` has passed. An interrupt ends the
// wait, unless `ignore_interrupt` is set.
void WaitForTransfers(void* set, absl::Duration timeout, bool ignore_interrupt = false);

}  // namespace det::cli

#endif  // CLI_CURL_TRANSFER_H_
