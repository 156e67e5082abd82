#include "master/webhooks/post.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include <curl/curl.h>

namespace det::webhooks {
namespace {

constexpr size_t kMaxResponseBytes = 64 << 10;

struct Exchange {
  const AddressRules& rules;
  const std::atomic<bool>& stopping;
  absl::Status refused;
  size_t read = 0;
};

absl::StatusOr<Address> ToAddress(const curl_sockaddr& peer) {
  Address address = {};
  if (peer.family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &peer.addr, sizeof(in));
    address[10] = address[11] = 0xff;
    std::memcpy(&address[12], &in.sin_addr, 4);
    return address;
  }
  if (peer.family != AF_INET6) return absl::PermissionDeniedError("the host has no IP address");
  sockaddr_in6 in6;
  std::memcpy(&in6, &peer.addr, std::min<size_t>(sizeof(in6), peer.addrlen));
  std::memcpy(address.data(), &in6.sin6_addr, 16);
  return address;
}

// Checked here and not after the lookup, since the resolved address may differ.
curl_socket_t OpenSocket(void* user, curlsocktype, curl_sockaddr* peer) {
  auto& exchange = *static_cast<Exchange*>(user);
  const absl::StatusOr<Address> address = ToAddress(*peer);
  exchange.refused = address.ok() ? CheckAddress(*address, exchange.rules) : address.status();
  if (!exchange.refused.ok()) return CURL_SOCKET_BAD;
  return ::socket(peer->family, peer->socktype | SOCK_CLOEXEC, peer->protocol);
}

size_t DiscardBody(char*, size_t size, size_t count, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  exchange.read += size * count;
  return exchange.read > kMaxResponseBytes ? 0 : size * count;  // 0 ends it
}

int Progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<Exchange*>(user)->stopping ? 1 : 0;
}

void InitCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

void SetUp(CURL* curl, absl::Duration timeout, Exchange& exchange) {
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  // Ignores proxies of the environment, which would connect on our behalf.
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  const auto ms = static_cast<long>(absl::ToInt64Milliseconds(timeout));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, ms);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, ms / 2);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, OpenSocket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, DiscardBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, Progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

absl::Status ToStatus(CURL* curl, CURLcode code, const Exchange& exchange) {
  if (exchange.stopping) return absl::CancelledError("the master is stopping");
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  // With several addresses, one may have responded although another was refused.
  if (status == 0 && !exchange.refused.ok()) return exchange.refused;
  // The status of a response that is too long or truncated is still valid.
  if (status >= 200 && status < 300) return absl::OkStatus();
  if (status == 0) return absl::UnavailableError(curl_easy_strerror(code));
  const char* redirect = status >= 300 && status < 400 ? ", and redirects are not followed" : "";
  return absl::UnavailableError(absl::StrCat("the receiver responded with ", status, redirect));
}

// Returns false if it is not a URL. `value` is empty if the URL lacks the part.
bool ParseUrl(const std::string& url, CURLUPart part, std::string* value) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return false;
  char* text = nullptr;
  curl_url_get(parsed.get(), part, &text, 0);
  *value = text == nullptr ? "" : text;
  curl_free(text);
  return true;
}

}  // namespace

absl::Status CheckUrl(const std::string& url) {
  constexpr size_t kLimit = 2048;
  const auto bad = [](const char* why) {
    return absl::InvalidArgumentError(
        absl::StrCat("url: ", why, "; expected one such as https://example.org/hook"));
  };
  if (url.size() > kLimit) return bad("is longer than 2048 bytes");
  std::string scheme;
  if (!ParseUrl(url, CURLUPART_SCHEME, &scheme)) return bad("is not a URL");
  if (scheme != "http" && scheme != "https") return bad("is neither http nor https");
  return absl::OkStatus();
}

absl::Status CheckHost(const std::string& url, const AddressRules& rules) {
  std::string host;
  if (!ParseUrl(url, CURLUPART_HOST, &host)) return absl::OkStatus();
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const absl::StatusOr<Network> address = ParseNetwork(host);
  return address.ok() ? CheckAddress(address->address, rules) : absl::OkStatus();
}

absl::Status Post(const std::string& url, const std::vector<std::string>& headers,
                  const std::string& body, const AddressRules& rules, absl::Duration timeout,
                  const std::atomic<bool>& stopping) {
  InitCurl();
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 curl_easy_cleanup);
  if (curl == nullptr) return absl::UnavailableError("out of memory");
  Exchange exchange{.rules = rules, .stopping = stopping, .refused = {}};
  SetUp(curl.get(), timeout, exchange);
  // "Expect:" would wait for a response that few servers send.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const std::string& header : headers) list = curl_slist_append(list, header.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
  const CURLcode code = curl_easy_perform(curl.get());
  absl::Status status = ToStatus(curl.get(), code, exchange);
  curl_slist_free_all(list);
  return status;
}

}  // namespace det::webhooks
