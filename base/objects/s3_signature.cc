#include "base/objects/s3_signature.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/objects/encode.h"

namespace det::objects {

void SignS3(Call& call, const std::string& host, const S3Keys& keys, const std::string& region,
            absl::Time now) {
  const std::string at = absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone());
  const std::string day = at.substr(0, 8);
  const std::string content = Sha256Hex(call.body);
  call.headers.emplace_back("x-amz-content-sha256", content);
  call.headers.emplace_back("x-amz-date", at);
  if (!keys.session_token.empty()) {
    call.headers.emplace_back("x-amz-security-token", keys.session_token);
  }
  std::map<std::string, std::string> headers = {{"host", host}};
  for (const auto& [name, value] : call.headers) headers[absl::AsciiStrToLower(name)] = value;
  std::string lines;
  std::string names;
  for (const auto& [name, value] : headers) {
    absl::StrAppend(&lines, name, ":", absl::StripAsciiWhitespace(value), "\n");
    absl::StrAppend(&names, names.empty() ? "" : ";", name);
  }
  Pairs query;
  for (const auto& [name, value] : call.query) {
    query.emplace_back(PercentEncode(name), PercentEncode(value));
  }
  std::sort(query.begin(), query.end());
  std::string query_text;
  for (const auto& [name, value] : query) {
    absl::StrAppend(&query_text, query_text.empty() ? "" : "&", name, "=", value);
  }
  const std::string request = absl::StrCat(call.method, "\n", call.path, "\n", query_text, "\n",
                                           lines, "\n", names, "\n", content);
  const std::string scope = absl::StrCat(day, "/", region, "/s3/aws4_request");
  const std::string to_sign =
      absl::StrCat("AWS4-HMAC-SHA256\n", at, "\n", scope, "\n", Sha256Hex(request));
  std::string key = absl::StrCat("AWS4", keys.secret_key);
  for (const std::string& part : {day, region, std::string("s3"), std::string("aws4_request")}) {
    key = HmacSha256(key, part);
  }
  const std::string signature = absl::BytesToHexString(HmacSha256(key, to_sign));
  call.headers.emplace_back(
      "Authorization", absl::StrCat("AWS4-HMAC-SHA256 Credential=", keys.access_key, "/", scope,
                                    ",SignedHeaders=", names, ",Signature=", signature));
}

}  // namespace det::objects
