#include "base/objects/s3_credentials.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/objects/credential_util.h"
#include "base/status_macros.h"
#include <nlohmann/json.hpp>

namespace det::objects {
namespace {

using Json = nlohmann::json;

constexpr char kNoKeys[] =
    "no credentials for S3: set access_key and secret_key in checkpoint_storage, set "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write ~/.aws/credentials, or attach a role to "
    "this machine";

HttpRequest MakeMetadataRequest(std::string method, std::string url, Pairs headers = {}) {
  HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  request.headers = std::move(headers);
  request.local = true;
  request.connect_timeout = absl::Seconds(1);
  return request;
}

absl::Status MakeRetryableError(const HttpResponse& response) {
  return absl::UnavailableError(
      absl::StrCat("cannot get credentials for S3: the metadata service returned HTTP status ",
                   response.status));
}

}  // namespace

std::string S3Region() { return GetEnv("AWS_REGION", GetEnv("AWS_DEFAULT_REGION", "us-east-1")); }

absl::StatusOr<S3Keys> S3Credentials::Get(absl::Time now) {
  if (!given_.access_key.empty()) return given_;
  if (now >= expires_ - kRenewBefore) DET_RETURN_IF_ERROR(FindKeys());
  return found_;
}

absl::Status S3Credentials::FindKeys() {
  found_ = {GetEnv("AWS_ACCESS_KEY_ID"), GetEnv("AWS_SECRET_ACCESS_KEY"),
            GetEnv("AWS_SESSION_TOKEN")};
  expires_ = absl::InfiniteFuture();
  if (!found_.access_key.empty() || ReadKeysFromFile()) return absl::OkStatus();
  expires_ = absl::InfinitePast();
  DET_ASSIGN_OR_RETURN(const bool container, FetchKeysFromContainer());
  if (container) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const bool machine, FetchKeysFromMachine());
  return machine ? absl::OkStatus() : absl::UnauthenticatedError(kNoKeys);
}

bool S3Credentials::ReadKeysFromFile() {
  const std::string path =
      GetEnv("AWS_SHARED_CREDENTIALS_FILE", GetEnv("HOME") + "/.aws/credentials");
  const std::string section = absl::StrCat("[", GetEnv("AWS_PROFILE", "default"), "]");
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) return false;
  S3Keys keys;
  bool inside = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(*text, '\n'))) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(parts.front()));
    if (!name.empty() && name.front() == '[') inside = name == section;
    if (!inside || parts.size() < 2) continue;
    const std::string value(absl::StripAsciiWhitespace(parts.back()));
    if (name == "aws_access_key_id") keys.access_key = value;
    if (name == "aws_secret_access_key") keys.secret_key = value;
    if (name == "aws_session_token") keys.session_token = value;
  }
  if (keys.access_key.empty()) return false;
  found_ = std::move(keys);
  return true;
}

absl::StatusOr<bool> S3Credentials::FetchKeysFromContainer() {
  const std::string relative = GetEnv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string url = relative.empty() ? GetEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                           : absl::StrCat("http://169.254.170.2", relative);
  if (url.empty()) return false;
  HttpRequest request = MakeMetadataRequest("GET", url);
  if (const std::string token = GetEnv("AWS_CONTAINER_AUTHORIZATION_TOKEN"); !token.empty()) {
    request.headers.emplace_back("Authorization", token);
  }
  DET_ASSIGN_OR_RETURN(const HttpResponse response, http_.Send(request));
  if (response.is_retryable()) return MakeRetryableError(response);
  return response.ok() && ParseKeys(response.body);
}

// Uses version 2 of the instance metadata service, which requires a token.
absl::StatusOr<bool> S3Credentials::FetchKeysFromMachine() {
  if (absl::AsciiStrToLower(GetEnv("AWS_EC2_METADATA_DISABLED")) == "true") return false;
  const std::string base = GetEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
  const absl::StatusOr<HttpResponse> token = http_.Send(MakeMetadataRequest(
      "PUT", base + "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}));
  if (!token.ok()) return false;  // There is no metadata service.
  if (token->is_retryable()) return MakeRetryableError(*token);
  if (!token->ok()) return false;
  const Pairs proof = {{"X-aws-ec2-metadata-token", token->body}};
  const std::string roles = base + "/latest/meta-data/iam/security-credentials/";
  DET_ASSIGN_OR_RETURN(const HttpResponse names,
                       http_.Send(MakeMetadataRequest("GET", roles, proof)));
  if (names.is_retryable()) return MakeRetryableError(names);
  const std::vector<std::string> lines = absl::StrSplit(names.body, '\n');
  const std::string role(absl::StripAsciiWhitespace(lines.front()));
  if (!names.ok() || role.empty()) return false;
  DET_ASSIGN_OR_RETURN(const HttpResponse response,
                       http_.Send(MakeMetadataRequest("GET", roles + role, proof)));
  if (response.is_retryable()) return MakeRetryableError(response);
  return response.ok() && ParseKeys(response.body);
}

bool S3Credentials::ParseKeys(const std::string& json) {
  const Json response = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!response.is_object()) return false;
  found_ = {GetString(response, "AccessKeyId"), GetString(response, "SecretAccessKey"),
            GetString(response, "Token")};
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, GetString(response, "Expiration"), &expires_, &error)) {
    expires_ = absl::InfiniteFuture();
  }
  return !found_.access_key.empty();
}

}  // namespace det::objects
