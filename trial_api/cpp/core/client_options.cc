// Reads the addresses of the masters, and how to verify them, from the environment.
#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/core/trial_client.h"

namespace det::core {
namespace {

// Splits "http://a:1,b:2" into {"a:1", "b:2"}; sets `tls` to true if one is https://.
std::vector<std::string> ParseMasters(const std::string& list, bool* tls) {
  std::vector<std::string> masters;
  for (absl::string_view address : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    address = absl::StripAsciiWhitespace(address);
    *tls |= absl::ConsumePrefix(&address, "https://");
    absl::ConsumePrefix(&address, "http://");
    absl::ConsumeSuffix(&address, "/");
    masters.emplace_back(address);
  }
  if (masters.empty())
    throw Error("$DET_MASTERS is '" + list + "', which contains no address of a master");
  return masters;
}

std::string ReadAuthority() {
  const std::string path = EnvOr("DET_MASTER_CERT_FILE", "");
  if (path.empty()) return "";
  if (path == "noverify") {
    throw Error(
        "$DET_MASTER_CERT_FILE is 'noverify', but trials always verify the master's certificate; "
        "set it to the file with the CA certificate");
  }
  const absl::StatusOr<std::string> text = base::ReadFile(path);
  if (text.ok()) return *text;
  throw Error("$DET_MASTER_CERT_FILE: " + std::string(text.status().message()));
}

}  // namespace

TrialClient::Options ClientOptionsFromEnvironment() {
  TrialClient::Options options;
  const std::string list = EnvOr("DET_MASTERS", "");
  options.tls.on = EnvOr("DET_USE_TLS", "") == "true";
  options.masters = list.empty() ? std::vector<std::string>{RequireEnv("DET_MASTER_HOST") + ":" +
                                                            RequireEnv("DET_MASTER_PORT")}
                                 : ParseMasters(list, &options.tls.on);
  if (options.tls.on) {
    options.tls.authority = ReadAuthority();
    options.tls.master_name = EnvOr("DET_MASTER_CERT_NAME", "");
  }
  if (const int64_t seconds = EnvIntOr("DET_MASTER_PATIENCE", -1); seconds >= 0) {
    options.retry_timeout = std::chrono::seconds(seconds);
  }
  options.token = RequireEnv("DET_SESSION_TOKEN");
  options.allocation_id = RequireEnv("DET_ALLOCATION_ID");
  options.trial_id = static_cast<int>(RequireEnvInt("DET_TRIAL_ID"));
  options.trial_run_id = static_cast<int>(RequireEnvInt("DET_TRIAL_RUN_ID"));
  return options;
}

}  // namespace det::core
