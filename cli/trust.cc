#include "cli/trust.h"

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/token_cache.h"
#include "nlohmann/json.hpp"

namespace det::cli {
namespace {

using Json = nlohmann::json;

std::string StorePath() {
  const std::string beside = TokenCachePath();
  return absl::StrCat(beside.substr(0, beside.rfind('/')), "/certs.json");
}

// {"https://host:port": "-----BEGIN ..."}; a file that cannot be read is as good as none.
Json Load() {
  const auto text = base::ReadFile(StorePath());
  Json store = text.ok() ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
  return store.is_object() ? store : Json::object();
}

}  // namespace

absl::StatusOr<Trust> TrustFor(const std::string& url) {
  Trust trust;
  trust.name = FromEnvironment("DET_MASTER_CERT_NAME");
  const std::string file = FromEnvironment("DET_MASTER_CERT_FILE");
  if (file == "noverify") {
    trust.verify = false;
    return trust;
  }
  if (!file.empty()) {
    const absl::StatusOr<std::string> text = base::ReadFile(file);
    if (!text.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("DET_MASTER_CERT_FILE: ", text.status().message()));
    }
    trust.certificates = *text;
    return trust;
  }
  const Json store = Load();
  const auto kept = store.find(url);
  if (kept != store.end() && kept->is_string()) trust.certificates = kept->get<std::string>();
  return trust;
}

absl::Status RememberCertificates(const std::string& url, const std::string& certificates) {
  Json store = Load();
  if (certificates.empty()) {
    if (store.erase(url) == 0) return absl::OkStatus();
  } else {
    store[url] = certificates;
  }
  const std::string path = StorePath();
  DET_RETURN_IF_ERROR(base::MakeDirs(path.substr(0, path.rfind('/'))));
  const std::string text = store.dump(2, ' ', false, Json::error_handler_t::replace);
  return base::WriteFileAtomically(path, text + "\n", 0600);
}

}  // namespace det::cli
