#include "master/gateway/builtin_routes.h"

namespace det::gateway {

const std::vector<BuiltinRoute>& GetBuiltinRoutes() {
  using Kind = BuiltinRoute::Kind;
  static const std::vector<BuiltinRoute> routes = {
      {.kind = Kind::kAbout,
       .path = "/",
       .name = "GetAbout",
       .summary = "Information about this server",
       .about = "Browsers get the dashboard instead, if the master has one.",
       .content_type = "text/plain"},
      {.kind = Kind::kApiPage,
       .path = "/api",
       .name = "GetApiPage",
       .summary = "Page with the API's documentation, from which to send requests",
       .about = "",
       .content_type = "text/html"},
      {.kind = Kind::kDescription,
       .path = "/api/v1/openapi.json",
       .name = "GetDescription",
       .summary = "This document",
       .about = "",
       .content_type = "application/json"},
      {.kind = Kind::kMetrics,
       .path = "/metrics",
       .name = "GetMetrics",
       .summary = "Metrics of the master in Prometheus format",
       .about = "",
       .content_type = "text/plain"},
      {.kind = Kind::kStreams,
       .path = "/api/v1/streams",
       .name = "JoinStreams",
       .summary = "Several streams over one connection",
       .about = "An event for each message: {\"stream\": 1, \"result\": {...}} for the second "
                "address, {\"stream\": 1, \"end\": true}, or {\"stream\": 1, \"status\": 404, "
                "\"error\": {...}}. Each stream is authorized like a separate request.",
       .content_type = "text/event-stream",
       .open = false,
       .parameters = {{.name = "of",
                       .about = "Path of a stream with its query, as in a separate request; 1 to "
                                "64 of them."}}},
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
