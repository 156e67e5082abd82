#include "base/objects/azure_signature.h"

#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/objects/encode.h"
#include "base/status_macros.h"

namespace det::objects {
namespace {

constexpr char kVersion[] = "2021-08-06";

absl::Status MakeConfigError(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("checkpoint_storage: ", why));
}

absl::Status SetKey(AzureAccount& account, const std::string& base64) {
  if (absl::Base64Unescape(base64, &account.key) && !account.key.empty()) return absl::OkStatus();
  return MakeConfigError(
      "the account key is not valid base64; copy it from the account's access keys");
}

// Returns "account" for https://account.blob.core.windows.net and for
// http://127.0.0.1:10000/account.
std::string GetAccountName(const std::string& url) {
  const absl::string_view rest = absl::string_view(url).substr(url.find("://") + 3);
  const size_t slash = rest.find('/');
  if (slash != absl::string_view::npos) return std::string(rest.substr(slash + 1));
  return std::string(rest.substr(0, rest.find('.')));
}

absl::Status CheckUrl(const std::string& url) {
  if (absl::StartsWith(url, "http://") || absl::StartsWith(url, "https://")) {
    return absl::OkStatus();
  }
  return MakeConfigError(
      "account_url is not a URL; expected a URL such as https://ACCOUNT.blob.core.windows.net");
}

}  // namespace

absl::StatusOr<AzureAccount> ParseConnectionString(const std::string& text) {
  std::map<std::string, std::string> parts;
  for (const absl::string_view part : absl::StrSplit(text, ';', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    parts[std::string(absl::StripAsciiWhitespace(pair.first))] = std::string(pair.second);
  }
  AzureAccount account;
  account.name = parts["AccountName"];
  account.url = parts["BlobEndpoint"];
  if (account.url.empty() && !account.name.empty()) {
    const std::string& suffix = parts["EndpointSuffix"];
    const std::string& protocol = parts["DefaultEndpointsProtocol"];
    account.url = absl::StrCat(protocol.empty() ? "https" : protocol, "://", account.name, ".blob.",
                               suffix.empty() ? "core.windows.net" : suffix);
  }
  if (account.url.empty())
    return MakeConfigError("connection_string has neither AccountName nor BlobEndpoint");
  account.url = std::string(absl::StripSuffix(account.url, "/"));
  DET_RETURN_IF_ERROR(CheckUrl(account.url));
  if (account.name.empty()) account.name = GetAccountName(account.url);
  account.sas = std::string(absl::StripPrefix(parts["SharedAccessSignature"], "?"));
  if (!parts["AccountKey"].empty()) DET_RETURN_IF_ERROR(SetKey(account, parts["AccountKey"]));
  return account;
}

absl::StatusOr<AzureAccount> ParseAccountUrl(const std::string& url,
                                             const std::string& credential) {
  AzureAccount account;
  account.url = std::string(absl::StripSuffix(url, "/"));
  DET_RETURN_IF_ERROR(CheckUrl(account.url));
  account.name = GetAccountName(account.url);
  if (absl::StrContains(credential, "sig=")) {
    account.sas = std::string(absl::StripPrefix(credential, "?"));
  } else if (!credential.empty()) {
    DET_RETURN_IF_ERROR(SetKey(account, credential));
  }
  return account;
}

void SignAzure(Call& call, const AzureAccount& account, absl::Time now) {
  call.headers.emplace_back(
      "x-ms-date", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", now, absl::UTCTimeZone()));
  call.headers.emplace_back("x-ms-version", kVersion);
  if (account.key.empty()) return;
  std::map<std::string, std::string> headers;
  std::map<std::string, std::string> query;
  for (const auto& [name, value] : call.headers) headers[absl::AsciiStrToLower(name)] = value;
  for (const auto& [name, value] : call.query) query[absl::AsciiStrToLower(name)] = value;
  const std::string length = call.body.empty() ? "" : absl::StrCat(call.body.size());
  // The lines are: encoding, language, length, MD5, type, date, four conditions, range.
  std::string text = absl::StrCat(call.method, "\n\n\n", length, "\n\n", headers["content-type"],
                                  "\n\n\n\n\n\n", headers["range"], "\n");
  for (const auto& [name, value] : headers) {
    if (absl::StartsWith(name, "x-ms-")) absl::StrAppend(&text, name, ":", value, "\n");
  }
  absl::StrAppend(&text, "/", account.name, call.path);
  for (const auto& [name, value] : query) absl::StrAppend(&text, "\n", name, ":", value);
  call.headers.emplace_back("Authorization",
                            absl::StrCat("SharedKey ", account.name, ":",
                                         absl::Base64Escape(HmacSha256(account.key, text))));
}

}  // namespace det::objects
