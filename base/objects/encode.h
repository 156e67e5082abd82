// Encodings of object stores: percent encoding, digests, and the subset of XML in their responses.
// PURE.
#ifndef BASE_OBJECTS_ENCODE_H_
#define BASE_OBJECTS_ENCODE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace det::objects {

// Encodes all characters but letters, digits and "-._~" as %XX (RFC 3986).
std::string PercentEncode(absl::string_view text);
// Same as PercentEncode, but keeps "/".
std::string PercentEncodePath(absl::string_view path);

std::string Sha256Hex(absl::string_view text);
// Returns the 32 bytes of the digest.
std::string HmacSha256(absl::string_view key, absl::string_view text);

// Returns the text of each element <name>, which must not contain other elements; entities are
// resolved.
std::vector<std::string> XmlValues(absl::string_view xml, absl::string_view name);
// Returns the text of the first element; empty if there is none.
std::string XmlValue(absl::string_view xml, absl::string_view name);

}  // namespace det::objects

#endif  // BASE_OBJECTS_ENCODE_H_
