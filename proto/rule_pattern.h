// The verb, path and body of an HttpRule, whichever of its forms it uses.
//
// Used by http_rule.cc and http_router.cc alone, on any thread.
#ifndef PROTO_RULE_PATTERN_H_
#define PROTO_RULE_PATTERN_H_

#include <string>

namespace google::api {
class HttpRule;
}  // namespace google::api

namespace det::proto {

struct RulePattern {
  std::string verb;  // empty: the rule says nothing
  std::string path;
  std::string body;
};

RulePattern PatternOf(const google::api::HttpRule& rule);

}  // namespace det::proto

#endif  // PROTO_RULE_PATTERN_H_
