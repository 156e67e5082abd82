#include "base/objects/azure_bucket.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "base/objects/azure_signature.h"
#include "base/objects/encode.h"
#include "base/objects/environment.h"
#include "base/objects/lent_token.h"
#include "base/objects/service.h"
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
        call.query.emplace_back(std::string(parts.first), Decoded(std::string(parts.second)));
      }
    } else if (account_.key.empty()) {
      DET_ASSIGN_OR_RETURN(const std::string token, token_.Get(now));
      call.headers.emplace_back("Authorization", "Bearer " + token);
    }
    SignAzure(call, account_, now);
    return absl::OkStatus();
  }
  void Renew() override { token_.Forget(); }

 private:
  // A signature comes percent-encoded, and is encoded with the rest of the query.
  static std::string Decoded(const std::string& text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      const bool coded = text[i] == '%' && i + 2 < text.size();
      out += coded ? absl::HexStringToBytes(text.substr(i + 1, 2)) : std::string(1, text[i]);
      if (coded) i += 2;
    }
    return out;
  }

  const AzureAccount account_;
  LentToken token_{AskAzure};
};

class AzureBucket final : public Bucket {
 public:
  // `folder`: between the host and the container, for one that is not in the host's name.
  AzureBucket(const std::string& address, const std::string& folder, const std::string& container,
              std::unique_ptr<Signer> signer, Patience patience)
      : path_(absl::StrCat(folder, "/", PercentEncodePath(container))),
        service_(address, "container " + container, std::move(signer), patience) {}

  absl::Status Put(const std::string& key, absl::string_view content) override {
    Call call = Of("PUT", key);
    call.headers = {{"Content-Type", "application/octet-stream"}, {"x-ms-blob-type", "BlockBlob"}};
    call.body = content;
    return service_.Ask("write " + key, call).status();
  }

  // Blocks that no list names go by themselves after a week.
  absl::Status PutFile(const std::string& key, const std::string& path) override {
    DET_ASSIGN_OR_RETURN(const std::optional<std::string> content, ReadSmall(path));
    if (content) return Put(key, *content);
    std::string blocks;
    DET_RETURN_IF_ERROR(InParts(path, [&](int number, absl::string_view part) -> absl::Status {
      const std::string id = absl::Base64Escape(absl::StrFormat("%08d", number));
      absl::StrAppend(&blocks, "<Latest>", id, "</Latest>");
      Call call = Of("PUT", key);
      call.query = {{"comp", "block"}, {"blockid", id}};
      call.body = part;
      return service_.Ask("write " + key, call).status();
    }));
    const std::string body = absl::StrCat("<BlockList>", blocks, "</BlockList>");
    Call call = Of("PUT", key);
    call.query = {{"comp", "blocklist"}};
    call.headers = {{"Content-Type", "application/xml"}};
    call.body = body;
    return service_.Ask("write " + key, call).status();
  }

  absl::StatusOr<std::string> Read(const std::string& key, int64_t offset,
                                   int64_t length) override {
    Call call = Of("GET", key);
    call.headers = {{"Range", RangeOf(offset, length)}};
    DET_ASSIGN_OR_RETURN(HttpAnswer answer, service_.Send(call));
    return service_.TakeRange("read " + key, std::move(answer), offset, length);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& prefix) override {
    Listing listing;
    do {
      Call call = Of("GET", "");
      call.query = {{"restype", "container"}, {"comp", "list"}, {"prefix", prefix}};
      if (!listing.next().empty()) call.query.emplace_back("marker", listing.next());
      DET_ASSIGN_OR_RETURN(const HttpAnswer answer, service_.Ask("list " + prefix, call));
      DET_RETURN_IF_ERROR(
          listing.Add(XmlValues(answer.body, "Name"), XmlValue(answer.body, "NextMarker")));
    } while (!listing.next().empty());
    return listing.Take();
  }

  absl::Status Remove(const std::string& key) override {
    const absl::Status done = service_.Ask("remove " + key, Of("DELETE", key)).status();
    return absl::IsNotFound(done) ? absl::OkStatus() : done;
  }

 private:
  Call Of(const std::string& method, const std::string& key) const {
    Call call;
    call.method = method;
    call.path = path_;
    if (!key.empty()) absl::StrAppend(&call.path, "/", PercentEncodePath(key));
    return call;
  }

  const std::string path_;
  Service service_;
};

absl::StatusOr<AzureAccount> AccountOf(const Place& place) {
  if (!place.connection_string.empty()) return AccountOfConnectionString(place.connection_string);
  std::string credential = place.credential;
  if (credential.empty()) credential = Environment("AZURE_STORAGE_KEY");
  if (credential.empty()) credential = Environment("AZURE_STORAGE_SAS_TOKEN");
  return AccountOfUrl(place.account_url, credential);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Bucket>> MakeAzureBucket(const Place& place, Patience patience) {
  DET_ASSIGN_OR_RETURN(AzureAccount account, AccountOf(place));
  const size_t slash = account.url.find('/', account.url.find("://") + 3);
  const std::string address = account.url.substr(0, slash);
  const std::string folder = slash == std::string::npos ? "" : account.url.substr(slash);
  return std::make_unique<AzureBucket>(address, folder, place.container,
                                       std::make_unique<AzureSigner>(std::move(account)), patience);
}

}  // namespace det::objects
