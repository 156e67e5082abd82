#include "base/objects/encode.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace det::objects {
namespace {

std::string Encode(absl::string_view text, absl::string_view also) {
  std::string out;
  for (const char c : text) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' ||
                       c == '_' || c == '~' || also.find(c) != absl::string_view::npos;
    if (plain) {
      out += c;
    } else {
      absl::StrAppendFormat(&out, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

std::string PercentEncode(absl::string_view text) { return Encode(text, ""); }
std::string PercentEncodePath(absl::string_view path) { return Encode(path, "/"); }

std::string Sha256Hex(absl::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), bytes.data(), &size, EVP_sha256(), nullptr);
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes.data()), size));
}

std::string HmacSha256(absl::string_view key, absl::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data(), &size);
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

std::vector<std::string> XmlValues(absl::string_view xml, absl::string_view name) {
  const std::string open = absl::StrCat("<", name, ">");
  const std::string close = absl::StrCat("</", name, ">");
  std::vector<std::string> values;
  for (size_t at = xml.find(open); at != absl::string_view::npos; at = xml.find(open, at)) {
    at += open.size();
    const size_t end = xml.find(close, at);
    if (end == absl::string_view::npos) break;
    values.push_back(absl::StrReplaceAll(xml.substr(at, end - at), {{"&lt;", "<"},
                                                                    {"&gt;", ">"},
                                                                    {"&quot;", "\""},
                                                                    {"&#34;", "\""},
                                                                    {"&apos;", "'"},
                                                                    {"&#39;", "'"},
                                                                    {"&amp;", "&"}}));
    at = end;
  }
  return values;
}

std::string XmlValue(absl::string_view xml, absl::string_view name) {
  const std::vector<std::string> values = XmlValues(xml, name);
  return values.empty() ? "" : values.front();
}

}  // namespace det::objects
