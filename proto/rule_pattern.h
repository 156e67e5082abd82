// The verb, path and body of an HttpRule, whichever of its forms it uses.
//
// Used by http_rule.cc, http_router.cc and whoever describes the API, on any thread.
#ifndef PROTO_RULE_PATTERN_H_
#define PROTO_RULE_PATTERN_H_

#include <string>
#include <vector>

namespace google::protobuf {
class MethodDescriptor;
}  // namespace google::protobuf

namespace det::proto {

struct RulePattern {
  std::string verb;
  std::string path;
  std::string body;
};

// All patterns of a method, its main one first. A method without a rule has
// POST /<package>.<Service>/<Method> with the whole message as its body.
std::vector<RulePattern> PatternsOf(const google::protobuf::MethodDescriptor& method);

}  // namespace det::proto

#endif  // PROTO_RULE_PATTERN_H_
