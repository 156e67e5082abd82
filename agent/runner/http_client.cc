#include "agent/runner/http_client.h"

#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include <curl/curl.h>

namespace det::agent {
namespace {

struct EasyDeleter {
  void operator()(void* easy) const { curl_easy_cleanup(easy); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, ListDeleter>;

void Append(List& list, const std::string& line) {
  list.reset(curl_slist_append(list.release(), line.c_str()));
}

size_t TakeBody(char* data, size_t size, size_t count, void* body) {
  static_cast<std::string*>(body)->append(data, size * count);
  return size * count;
}

// Sends the request to the host of the URL, but expects another name in its certificate.
void SetServerName(CURL* easy, const HttpRequest& request, List& connect_to) {
  const size_t host = request.url.find("://") + 3;
  const size_t path = request.url.find('/', host);
  const std::string address = request.url.substr(host, path - host);
  const size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? ":443" : address.substr(colon);
  Append(connect_to, absl::StrCat("::", colon == std::string::npos ? address + port : address));
  const std::string url = absl::StrCat("https://", request.tls.server_name, port,
                                       path == std::string::npos ? "" : request.url.substr(path));
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to.get());
}

}  // namespace

absl::StatusOr<HttpResponse> Send(const HttpRequest& request) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  const std::unique_ptr<void, EasyDeleter> easy(curl_easy_init());
  if (easy == nullptr) return absl::UnavailableError("no memory for a request");
  List headers, connect_to;
  for (const std::string& header : request.headers) Append(headers, header);
  Append(headers, "Expect:");  // no wait for "100 Continue"
  if (!request.body.empty()) Append(headers, "Content-Type: application/json");

  HttpResponse response;
  char error[CURL_ERROR_SIZE] = "";
  const auto set = [&](CURLoption option, auto value) {
    curl_easy_setopt(easy.get(), option, value);
  };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_CUSTOMREQUEST, request.verb.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  if (request.verb != "GET") {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.c_str());
  }
  set(CURLOPT_WRITEFUNCTION, TakeBody);
  set(CURLOPT_WRITEDATA, &response.body);
  set(CURLOPT_ERRORBUFFER, error);
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(absl::ToInt64Milliseconds(request.timeout)));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_USERAGENT, "resolute-runner");
  if (!request.tls.authority_file.empty()) {
    set(CURLOPT_CAINFO, request.tls.authority_file.c_str());
    set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
  }
  if (!request.tls.server_name.empty() && request.url.starts_with("https://")) {
    SetServerName(easy.get(), request, connect_to);
  }
  if (const CURLcode code = curl_easy_perform(easy.get()); code != CURLE_OK) {
    return absl::UnavailableError(*error != 0 ? error : curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  return response;
}

}  // namespace det::agent
