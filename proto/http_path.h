// Path templates of HTTP rules ("/api/v1/trials/{trial_id}/logs") and the percent-encoding of paths
// and queries.
//
// Used by http_rule.cc, http_router.cc and whoever describes the API, on any thread. Never does
// I/O, knows no descriptor.
#ifndef PROTO_HTTP_PATH_H_
#define PROTO_HTTP_PATH_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace det::proto {

struct PathSegment {
  std::string literal;  // when `field` is empty
  std::string field;    // path of a field: "id", "experiment.id"
  bool rest = false;    // the field takes all segments that remain
};

// INVALID_ARGUMENT for text that is no template.
absl::StatusOr<std::vector<PathSegment>> ParsePathTemplate(std::string_view text);

// Everything but letters, digits and -._~ becomes %XX; `keep` names further characters to leave.
std::string PercentEncode(std::string_view text, std::string_view keep = "");

// A '%' that no two hexadecimal digits follow stays as it is. In a query, '+' is a blank.
std::string PercentDecode(std::string_view text, bool query);

// "a=1&b=2" decoded, in order.
std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query);

}  // namespace det::proto

#endif  // PROTO_HTTP_PATH_H_
