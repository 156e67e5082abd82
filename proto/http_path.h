// Path templates of HTTP rules ("/api/v1/trials/{trial_id}/logs"), and percent-encoding of paths
// and queries.
//
// Used by http_rule.cc, http_router.cc and the description of the API, on any thread. Does no I/O
// and uses no descriptors.
#ifndef PROTO_HTTP_PATH_H_
#define PROTO_HTTP_PATH_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace det::proto {

struct PathSegment {
  std::string literal;  // the text, if `field` is empty
  std::string field;    // path of a field, such as "id" or "experiment.id"
  bool rest = false;    // the field matches all remaining segments
};

// Returns INVALID_ARGUMENT for an invalid template.
absl::StatusOr<std::vector<PathSegment>> ParsePathTemplate(std::string_view text);

// Encodes all characters but letters, digits, -._~ and those in `keep` as %XX.
std::string PercentEncode(std::string_view text, std::string_view keep = "");

// Decodes %XX; a '%' without two hexadecimal digits is kept. In a query, '+' is a space.
std::string PercentDecode(std::string_view text, bool query);

// Parses and decodes "a=1&b=2"; keeps the order.
std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query);

}  // namespace det::proto

#endif  // PROTO_HTTP_PATH_H_
