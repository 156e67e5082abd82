#include "base/objects/http.h"

#include <mutex>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <curl/curl.h>

namespace det::objects {
namespace {

void InitCurl() {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
}

// The maximum size of a response, larger than any requested part: a faulty server must not fill the
// memory.
constexpr size_t kMaxBodySize = size_t{80} << 20;

size_t TakeBody(char* data, size_t size, size_t count, void* user) {
  std::string& body = static_cast<HttpResponse*>(user)->body;
  if (body.size() + size * count > kMaxBodySize) return 0;  // curl ends the transfer with an error
  body.append(data, size * count);
  return size * count;
}

size_t TakeHeader(char* data, size_t size, size_t count, void* user) {
  const absl::string_view line(data, size * count);
  const size_t colon = line.find(':');
  if (colon != absl::string_view::npos) {
    static_cast<HttpResponse*>(user)->headers[absl::AsciiStrToLower(line.substr(0, colon))] =
        std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return line.size();
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, FreeList>;

// Suppresses curl's default headers: "Expect:", which few servers answer, and "Content-Type:",
// which is sent only if it was set explicitly.
List HeaderList(const Pairs& headers) {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  list = curl_slist_append(list, "Accept:");
  bool typed = false;
  for (const auto& [name, value] : headers) {
    typed = typed || name == "Content-Type";
    // The semicolon makes curl send a header without a value.
    const std::string line =
        value.empty() ? absl::StrCat(name, ";") : absl::StrCat(name, ": ", value);
    list = curl_slist_append(list, line.c_str());
  }
  if (!typed) list = curl_slist_append(list, "Content-Type:");
  return List(list);
}

void SetUp(CURL* curl, const HttpRequest& request, const curl_slist* headers,
           HttpResponse& response) {
  curl_easy_reset(curl);  // keeps connections open
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  if (request.local) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(absl::ToInt64Milliseconds(request.connect_timeout)));
  // A large object may take long, but a connection without any data for this time is aborted.
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request.local ? 5L : 60L);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  if (request.method == "PUT" || request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.empty() ? "" : request.body.data());
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);
}

}  // namespace

void HttpClient::Close::operator()(void* curl) const { curl_easy_cleanup(curl); }

HttpClient::HttpClient() {
  InitCurl();
  curl_.reset(curl_easy_init());
}

absl::StatusOr<HttpResponse> HttpClient::Send(const HttpRequest& request) {
  if (curl_ == nullptr) return absl::UnavailableError("out of memory");
  HttpResponse response;
  const List headers = HeaderList(request.headers);
  SetUp(curl_.get(), request, headers.get(), response);
  const CURLcode code = curl_easy_perform(curl_.get());
  long status = 0;
  curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (code != CURLE_OK) return absl::UnavailableError(curl_easy_strerror(code));
  response.status = static_cast<int>(status);
  return response;
}

}  // namespace det::objects
