#include "base/objects/azure_bucket.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/objects/azure_signature.h"
#include "base/objects/cached_token.h"
#include "base/objects/credential_util.h"
#include "base/objects/encode.h"
#include "base/objects/rest_client.h"
#include "base/status_macros.h"

namespace det::objects {
namespace {

class AzureSigner final : public Signer {
 public:
  explicit AzureSigner(AzureAccount account) : account_(std::move(account)) {}

  absl::Status Sign(Call& call, const std::string&, absl::Time now) override {
    if (!account_.sas.empty()) {
      for (const absl::string_view pair : absl::StrSplit(account_.sas, '&', absl::SkipEmpty())) {
        const std::pair<absl::string_view, absl::string_view> parts =
            absl::StrSplit(pair, absl::MaxSplits('=', 1));
        call.query.emplace_back(std::string(parts.first), PercentDecode(std::string(parts.second)));
      }
    } else if (account_.key.empty()) {
      DET_ASSIGN_OR_RETURN(const std::string token, token_.Get(now));
      call.headers.emplace_back("Authorization", "Bearer " + token);
    }
    SignAzure(call, account_, now);
    return absl::OkStatus();
  }
  void RefreshCredentials() override { token_.Invalidate(); }

 private:
  // The shared access signature is percent-encoded, and is encoded again with the rest of the
  // query.
  static std::string PercentDecode(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool coded = text[i] == '%' && i + 2 < text.size();
      out += coded ? absl::HexStringToBytes(text.substr(i + 1, 2)) : std::string(1, text[i]);
      if (coded) i += 2;
    }
    return out;
  }

  const AzureAccount account_;
  CachedToken token_{FetchAzureToken};
};

class AzureBucket final : public Bucket {
 public:
  // `account_path` is the part of the URL between host and container, if the account is not part of
  // the host name.
  AzureBucket(const std::string& address, const std::string& account_path,
              const std::string& container, std::unique_ptr<Signer> signer,
              RetryPolicy retry_policy)
      : path_(absl::StrCat(account_path, "/", PercentEncodePath(container))),
        client_(address, "container " + container, std::move(signer), retry_policy) {}

  absl::Status Put(const std::string& key, absl::string_view content) override {
    Call call = MakeCall("PUT", key);
    call.headers = {{"Content-Type", "application/octet-stream"}, {"x-ms-blob-type", "BlockBlob"}};
    call.body = content;
    return client_.SendChecked("write " + key, call).status();
  }

  // Azure removes uncommitted blocks after a week.
  absl::Status PutFile(const std::string& key, const std::string& path) override {
    DET_ASSIGN_OR_RETURN(const std::optional<std::string> content, ReadSmallFile(path));
    if (content) return Put(key, *content);
    std::string blocks;
    DET_RETURN_IF_ERROR(ForEachPart(path, [&](int number, absl::string_view part) -> absl::Status {
      const std::string id = absl::Base64Escape(absl::StrFormat("%08d", number));
      absl::StrAppend(&blocks, "<Latest>", id, "</Latest>");
      Call call = MakeCall("PUT", key);
      call.query = {{"comp", "block"}, {"blockid", id}};
      call.body = part;
      return client_.SendChecked("write " + key, call).status();
    }));
    const std::string body = absl::StrCat("<BlockList>", blocks, "</BlockList>");
    Call call = MakeCall("PUT", key);
    call.query = {{"comp", "blocklist"}};
    call.headers = {{"Content-Type", "application/xml"}};
    call.body = body;
    return client_.SendChecked("write " + key, call).status();
  }

  absl::StatusOr<std::string> Read(const std::string& key, int64_t offset,
                                   int64_t length) override {
    Call call = MakeCall("GET", key);
    call.headers = {{"Range", FormatRange(offset, length)}};
    DET_ASSIGN_OR_RETURN(HttpResponse response, client_.Send(call));
    return client_.ExtractRange("read " + key, std::move(response), offset, length);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) override {
    Listing listing;
    do {
      Call call = MakeCall("GET", "");
      call.query = {{"restype", "container"}, {"comp", "list"}, {"prefix", prefix}};
      if (!listing.next().empty()) call.query.emplace_back("marker", listing.next());
      DET_ASSIGN_OR_RETURN(const HttpResponse response,
                           client_.SendChecked("list " + prefix, call));
      DET_RETURN_IF_ERROR(
          listing.Add(XmlValues(response.body, "Name"), XmlValue(response.body, "NextMarker")));
    } while (!listing.next().empty());
    return listing.Take();
  }

  absl::Status Remove(const std::string& key) override {
    const absl::Status done =
        client_.SendChecked("remove " + key, MakeCall("DELETE", key)).status();
    return absl::IsNotFound(done) ? absl::OkStatus() : done;
  }

 private:
  Call MakeCall(const std::string& method, const std::string& key) const {
    Call call;
    call.method = method;
    call.path = path_;
    if (!key.empty()) absl::StrAppend(&call.path, "/", PercentEncodePath(key));
    return call;
  }

  const std::string path_;
  RestClient client_;
};

absl::StatusOr<AzureAccount> GetAccount(const BucketConfig& config) {
  if (!config.connection_string.empty()) return ParseConnectionString(config.connection_string);
  std::string credential = config.credential;
  if (credential.empty()) credential = GetEnv("AZURE_STORAGE_KEY");
  if (credential.empty()) credential = GetEnv("AZURE_STORAGE_SAS_TOKEN");
  return ParseAccountUrl(config.account_url, credential);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bucket>> MakeAzureBucket(const BucketConfig& config,
                                                        RetryPolicy retry_policy) {
  DET_ASSIGN_OR_RETURN(AzureAccount account, GetAccount(config));
  const size_t slash = account.url.find('/', account.url.find("://") + 3);
  const std::string address = account.url.substr(0, slash);
  const std::string account_path = slash == std::string::npos ? "" : account.url.substr(slash);
  return std::make_unique<AzureBucket>(address, account_path, config.container,
                                       std::make_unique<AzureSigner>(std::move(account)),
                                       retry_policy);
}

}  // namespace det::objects
