// How object stores write things: percent encoding, digests, and the little XML they answer with.
// PURE.
#ifndef BASE_OBJECTS_ENCODE_H_
#define BASE_OBJECTS_ENCODE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace det::objects {

// RFC 3986: all but letters, digits and "-._~" as %XX.
std::string PercentEncode(absl::string_view text);
// The same, but for "/".
std::string PercentEncodePath(absl::string_view path);

std::string Sha256Hex(absl::string_view text);
// The digest's 32 bytes.
std::string HmacSha256(absl::string_view key, absl::string_view text);

// What stands between <name> and </name>, each time, without markup below; entities resolved.
std::vector<std::string> XmlValues(absl::string_view xml, absl::string_view name);
// The first; empty if there is none.
std::string XmlValue(absl::string_view xml, absl::string_view name);

}  // namespace det::objects

#endif  // BASE_OBJECTS_ENCODE_H_
