#include "base/objects/s3_credentials.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/file.h"
#include "base/objects/environment.h"
#include "base/status_macros.h"
#include <nlohmann/json.hpp>

namespace det::objects {
namespace {

using Json = nlohmann::json;

constexpr char kNone[] =
    "there are no keys for S3: give access_key and secret_key in checkpoint_storage, or set "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials, or give this "
    "machine "
    "a role";

HttpRequest Local(std::string method, std::string url, Pairs headers = {}) {
  HttpRequest request;
  request.method = std::move(method);
  request.url = std::move(url);
  request.headers = std::move(headers);
  request.local = true;
  request.connect_within = absl::Seconds(1);
  return request;
}

absl::Status Passing(const HttpAnswer& answer) {
  return absl::UnavailableError(
      absl::StrCat("no keys for S3: who lends them answered ", answer.status));
}

}  // namespace

std::string S3Region() {
  return Environment("AWS_REGION", Environment("AWS_DEFAULT_REGION", "us-east-1"));
}

absl::StatusOr<S3Keys> S3Credentials::Get(absl::Time now) {
  if (!given_.access_key.empty()) return given_;
  if (now >= until_ - kRenewBefore) DET_RETURN_IF_ERROR(Find());
  return found_;
}

absl::Status S3Credentials::Find() {
  found_ = {Environment("AWS_ACCESS_KEY_ID"), Environment("AWS_SECRET_ACCESS_KEY"),
            Environment("AWS_SESSION_TOKEN")};
  until_ = absl::InfiniteFuture();
  if (!found_.access_key.empty() || FromFile()) return absl::OkStatus();
  until_ = absl::InfinitePast();
  DET_ASSIGN_OR_RETURN(const bool container, FromContainer());
  if (container) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const bool machine, FromMachine());
  return machine ? absl::OkStatus() : absl::UnauthenticatedError(kNone);
}

bool S3Credentials::FromFile() {
  const std::string path =
      Environment("AWS_SHARED_CREDENTIALS_FILE", Environment("HOME") + "/.aws/credentials");
  const std::string wanted = absl::StrCat("[", Environment("AWS_PROFILE", "default"), "]");
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) return false;
  S3Keys keys;
  bool inside = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(*text, '\n'))) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(parts.front()));
    if (!name.empty() && name.front() == '[') inside = name == wanted;
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

absl::StatusOr<bool> S3Credentials::FromContainer() {
  const std::string relative = Environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string url = relative.empty() ? Environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                           : absl::StrCat("http://169.254.170.2", relative);
  if (url.empty()) return false;
  HttpRequest request = Local("GET", url);
  if (const std::string token = Environment("AWS_CONTAINER_AUTHORIZATION_TOKEN"); !token.empty()) {
    request.headers.emplace_back("Authorization", token);
  }
  DET_ASSIGN_OR_RETURN(const HttpAnswer answer, http_.Send(request));
  if (answer.passes()) return Passing(answer);
  return answer.ok() && Take(answer.body);
}

// Version 2 of the machine's metadata service: a token first.
absl::StatusOr<bool> S3Credentials::FromMachine() {
  if (absl::AsciiStrToLower(Environment("AWS_EC2_METADATA_DISABLED")) == "true") return false;
  const std::string base =
      Environment("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
  const absl::StatusOr<HttpAnswer> token = http_.Send(Local(
      "PUT", base + "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}));
  if (!token.ok()) return false;  // This is no such machine.
  if (token->passes()) return Passing(*token);
  if (!token->ok()) return false;
  const Pairs proof = {{"X-aws-ec2-metadata-token", token->body}};
  const std::string roles = base + "/latest/meta-data/iam/security-credentials/";
  DET_ASSIGN_OR_RETURN(const HttpAnswer names, http_.Send(Local("GET", roles, proof)));
  if (names.passes()) return Passing(names);
  const std::vector<std::string> lines = absl::StrSplit(names.body, '\n');
  const std::string role(absl::StripAsciiWhitespace(lines.front()));
  if (!names.ok() || role.empty()) return false;
  DET_ASSIGN_OR_RETURN(const HttpAnswer answer, http_.Send(Local("GET", roles + role, proof)));
  if (answer.passes()) return Passing(answer);
  return answer.ok() && Take(answer.body);
}

bool S3Credentials::Take(const std::string& json) {
  const Json answer = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return false;
  found_ = {TextOf(answer, "AccessKeyId"), TextOf(answer, "SecretAccessKey"),
            TextOf(answer, "Token")};
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, TextOf(answer, "Expiration"), &until_, &error)) {
    until_ = absl::InfiniteFuture();
  }
  return !found_.access_key.empty();
}

}  // namespace det::objects
