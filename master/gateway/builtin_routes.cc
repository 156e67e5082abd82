#include "master/gateway/builtin_routes.h"

namespace det::gateway {

const std::vector<BuiltinRoute>& GetBuiltinRoutes() {
  using Kind = BuiltinRoute::Answer;
  static const std::vector<BuiltinRoute> routes = {
      {.kind = Kind::kAbout,
       .path = "/",
       .name = "GetAbout",
       .summary = "What this is",
       .about = "A browser is shown the dashboard instead, where the master has it.",
       .content_type = "text/plain"},
      {.kind = Kind::kApiPage,
       .path = "/api",
       .name = "GetApiPage",
       .summary = "A page to read this description and to try the API",
       .about = "",
       .content_type = "text/html"},
      {.kind = Kind::kDescription,
       .path = "/api/v1/openapi.json",
       .name = "GetDescription",
       .summary = "This description",
       .about = "",
       .content_type = "application/json"},
      {.kind = Kind::kMetrics,
       .path = "/metrics",
       .name = "GetMetrics",
       .summary = "Figures of the master, as Prometheus reads them",
       .about = "",
       .content_type = "text/plain"},
      {.kind = Kind::kStreams,
       .path = "/api/v1/streams",
       .name = "JoinStreams",
       .summary = "Several streams over one connection",
       .about =
           "An event for each message: {\"stream\": 1, \"result\": {...}} of the second address, "
           "{\"stream\": 1, \"end\": true}, or {\"stream\": 1, \"status\": 404, \"error\": "
           "{...}}. Each is admitted as if it were asked for alone.",
       .content_type = "text/event-stream",
       .open = false,
       .parameters = {{.name = "of",
                       .about = "The address of a stream with its query, as it is asked for alone; "
                                "1 to 64 of them."}}},
  };
  return routes;
}

const BuiltinRoute* FindBuiltinRoute(std::string_view path) {
  if (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  for (const BuiltinRoute& route : GetBuiltinRoutes()) {
    if (route.path == path) return &route;
  }
  return nullptr;
}

}  // namespace det::gateway
