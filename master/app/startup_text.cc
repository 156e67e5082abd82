#include "master/app/startup_text.h"

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/install.h"

namespace det::app {
namespace {

bool IsAll(const std::string& bind) { return bind == "0.0.0.0" || bind == "::"; }

std::string HostName() {
  char name[256] = "";
  return ::gethostname(name, sizeof(name) - 1) == 0 && name[0] != 0 ? name : "127.0.0.1";
}

}  // namespace

std::string UrlOf(const Config& config, int port, bool from_elsewhere) {
  const std::string host = !IsAll(config.bind) ? config.bind
                           : from_elsewhere    ? HostName()
                                               : "127.0.0.1";
  const bool brackets = absl::StrContains(host, ":");
  return absl::StrCat(config.tls_cert.empty() ? "http://" : "https://", brackets ? "[" : "", host,
                      brackets ? "]" : "", ":", port);
}

std::string About(bool tls) {
  return absl::StrCat(
      "Resolute master ", base::kVersion,
      "\n\nAPI      /api/v1 (JSON; gRPC on the same port)\ntry it   /api\nhealth   /health\n"
      "metrics  /metrics\n\nUse it with: det -m ",
      tls ? "https" : "http", "://<this address> experiment list\n");
}

}  // namespace det::app
