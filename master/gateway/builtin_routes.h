// Routes that the gateway serves itself, besides the methods of services: a table used by
// http_exchange.cc to serve them and by openapi.cc to describe them.
//
// PURE.
#ifndef MASTER_GATEWAY_BUILTIN_ROUTES_H_
#define MASTER_GATEWAY_BUILTIN_ROUTES_H_

#include <string_view>
#include <vector>

namespace det::gateway {

struct BuiltinRoute {
  enum class Kind { kAbout, kApiPage, kDescription, kMetrics, kStreams };
  // A query parameter; may be repeated.
  struct Parameter {
    std::string_view name;
    std::string_view about;
  };

  Kind kind;
  std::string_view path;  // for GET and HEAD
  std::string_view name;  // operation id in the OpenAPI document
  std::string_view summary;
  std::string_view about;
  std::string_view content_type;
  bool open = true;  // without a token
  std::vector<Parameter> parameters = {};
};

const std::vector<BuiltinRoute>& GetBuiltinRoutes();
// Finds a route by the path of a request without its query; ignores a trailing slash. Null: none.
const BuiltinRoute* FindBuiltinRoute(std::string_view path);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_BUILTIN_ROUTES_H_
