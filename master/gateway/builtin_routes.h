// What the gateway answers by itself, beside the methods of the services: one table, by which
// http_exchange.cc finds it and openapi.cc describes it.
//
// PURE.
#ifndef MASTER_GATEWAY_BUILTIN_ROUTES_H_
#define MASTER_GATEWAY_BUILTIN_ROUTES_H_

#include <string_view>
#include <vector>

namespace det::gateway {

struct BuiltinRoute {
  enum class Kind { kAbout, kApiPage, kDescription, kMetrics, kStreams };
  // What may stand in the query, any number of times.
  struct Parameter {
    std::string_view name;
    std::string_view about;
  };

  Kind kind;
  std::string_view path;  // of GET and HEAD
  std::string_view name;  // in the description
  std::string_view summary;
  std::string_view about;
  std::string_view content_type;
  bool open = true;  // to whoever asks
  std::vector<Parameter> parameters = {};
};

const std::vector<BuiltinRoute>& GetBuiltinRoutes();
// By the path of a request, without its query; a slash at its end does not matter. Null: none.
const BuiltinRoute* FindBuiltinRoute(std::string_view path);

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_BUILTIN_ROUTES_H_
