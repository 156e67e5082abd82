#include "base/objects/cached_token.h"

#include <filesystem>
#include <memory>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/objects/credential_util.h"
#include "base/objects/encode.h"
#include "base/objects/rest_client.h"
#include "base/status_macros.h"
#include <nlohmann/json.hpp>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace det::objects {
namespace {

using Json = nlohmann::json;

constexpr char kScope[] = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";

absl::StatusOr<std::string> SignRs256(const std::string& pem, absl::string_view text) {
  const absl::Status bad =
      absl::FailedPreconditionError("invalid private_key in Google's credentials");
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  if (key == nullptr) return bad;
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return bad;
  }
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) != 1) {
    return bad;
  }
  signature.resize(size);
  return signature;
}

absl::StatusOr<HttpResponse> PostForm(HttpClient& http, const std::string& url, const Pairs& form) {
  const std::string body = QueryText(form);
  HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = body;
  return http.Send(request);
}

// RFC 7523.
absl::StatusOr<Pairs> MakeAssertion(const Json& account, const std::string& uri, absl::Time now) {
  const Json claims = {{"iss", GetString(account, "client_email")},
                       {"scope", kScope},
                       {"aud", uri},
                       {"iat", absl::ToUnixSeconds(now)},
                       {"exp", absl::ToUnixSeconds(now) + 3600}};
  const std::string text = absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"RS256","typ":"JWT"})"),
                                        ".", absl::WebSafeBase64Escape(claims.dump()));
  DET_ASSIGN_OR_RETURN(const std::string signature,
                       SignRs256(GetString(account, "private_key"), text));
  return Pairs{{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
               {"assertion", absl::StrCat(text, ".", absl::WebSafeBase64Escape(signature))}};
}

absl::StatusOr<ExpiringToken> ExchangeAccountKey(HttpClient& http, const std::string& path,
                                                 const std::string& text, absl::Time now) {
  const Json account = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!account.is_object()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a JSON file with Google's credentials"));
  }
  const std::string uri =
      account.contains("token_uri") ? GetString(account, "token_uri") : kTokenUri;
  const std::string type = GetString(account, "type");
  Pairs form;
  if (type == "service_account") {
    DET_ASSIGN_OR_RETURN(form, MakeAssertion(account, uri, now));
  } else if (type == "authorized_user") {
    form = {{"grant_type", "refresh_token"},
            {"client_id", GetString(account, "client_id")},
            {"client_secret", GetString(account, "client_secret")},
            {"refresh_token", GetString(account, "refresh_token")}};
  } else {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has credentials of type \"", type,
                     "\"; expected service_account or authorized_user"));
  }
  return ParseTokenResponse(uri, PostForm(http, uri, form), now);
}

HttpRequest MakeMetadataRequest(const std::string& url, Pairs headers) {
  HttpRequest request;
  request.url = url;
  request.headers = std::move(headers);
  request.local = true;
  request.connect_timeout = absl::Seconds(1);
  return request;
}

}  // namespace

absl::StatusOr<std::string> CachedToken::Get(absl::Time now) {
  if (now >= token_.expires - kRenewBefore) {
    DET_ASSIGN_OR_RETURN(token_, fetch_(http_, now));
  }
  return token_.token;
}

absl::StatusOr<ExpiringToken> ParseTokenResponse(const std::string& server,
                                                 const absl::StatusOr<HttpResponse>& response,
                                                 absl::Time now) {
  if (!response.ok()) {
    return absl::UnavailableError(
        absl::StrCat("cannot get a token from ", server, ": ", response.status().message()));
  }
  const Json json = Json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  const std::string token = json.is_object() ? GetString(json, "access_token") : "";
  if (response->is_retryable()) {
    return absl::UnavailableError(
        absl::StrCat("cannot get a token from ", server, ": HTTP status ", response->status));
  }
  if (!response->ok() || token.empty()) {
    return absl::UnauthenticatedError(
        absl::StrCat("cannot get a token from ", server, ": HTTP status ", response->status, " ",
                     json.is_object() ? GetString(json, "error_description") : ""));
  }
  int64_t seconds = 0;
  if (json.contains("expires_in") && json["expires_in"].is_number()) {
    seconds = json["expires_in"].get<int64_t>();
  } else if (!absl::SimpleAtoi(GetString(json, "expires_in"), &seconds)) {
    seconds = 300;
  }
  return ExpiringToken{token, now + absl::Seconds(seconds)};
}

absl::StatusOr<ExpiringToken> FetchGoogleToken(HttpClient& http, absl::Time now) {
  const std::string named = GetEnv("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string path =
      named.empty() ? GetEnv("HOME") + "/.config/gcloud/application_default_credentials.json"
                    : named;
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (text.ok()) return ExchangeAccountKey(http, path, *text, now);
  if (!named.empty()) return text.status();
  const std::string host = GetEnv("GCE_METADATA_HOST");
  if (host.empty() && !GetEnv("STORAGE_EMULATOR_HOST").empty()) {
    return ExpiringToken{"", absl::InfiniteFuture()};
  }
  const std::string url =
      absl::StrCat("http://", host.empty() ? "metadata.google.internal" : host,
                   "/computeMetadata/v1/instance/service-accounts/default/token");
  const absl::StatusOr<HttpResponse> response =
      http.Send(MakeMetadataRequest(url, {{"Metadata-Flavor", "Google"}}));
  if (response.ok())
    return ParseTokenResponse("the service account of this machine", response, now);
  return absl::UnauthenticatedError(
      "no credentials for Google Cloud Storage: set GOOGLE_APPLICATION_CREDENTIALS, run gcloud "
      "auth application-default login, or attach a service account to this machine");
}

absl::StatusOr<ExpiringToken> FetchAzureToken(HttpClient& http, absl::Time now) {
  const std::string base = GetEnv("AZURE_POD_IDENTITY_AUTHORITY_HOST", "http://169.254.169.254");
  const Pairs query = {{"api-version", "2018-02-01"}, {"resource", "https://storage.azure.com/"}};
  const absl::StatusOr<HttpResponse> response = http.Send(
      MakeMetadataRequest(absl::StrCat(base, "/metadata/identity/oauth2/token?", QueryText(query)),
                          {{"Metadata", "true"}}));
  if (response.ok()) return ParseTokenResponse("the identity of this machine", response, now);
  return absl::UnauthenticatedError(
      "no credentials for Azure Blob Storage: set connection_string or credential in "
      "checkpoint_storage, set AZURE_STORAGE_KEY, or assign an identity to this machine");
}

}  // namespace det::objects
