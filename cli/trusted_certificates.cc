#include "cli/trusted_certificates.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/fd.h"
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

// Returns {"https://host:port": "-----BEGIN ..."}; empty if there is no file.
absl::StatusOr<Json> LoadCertificates() {
  const auto text = base::ReadFile(StorePath());
  if (absl::IsNotFound(text.status())) return Json::object();
  Json store = text.ok() ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json(nullptr);
  if (store.is_object()) return store;
  return absl::InvalidArgumentError(
      absl::StrCat(StorePath(), ": ", text.ok() ? "is not a JSON object" : text.status().message(),
                   "; it stores the certificates that `det` trusts: repair it, or remove it and "
                   "trust them again (det -m URL master trust)"));
}

// Locks the file for a read and a write; waits for other det processes.
absl::StatusOr<base::Fd> Lock() {
  const std::string path = StorePath() + ".lock";
  base::Fd fd(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  int locked = -1;
  while (fd.valid() && (locked = ::flock(fd.get(), LOCK_EX)) != 0 && errno == EINTR) {
  }
  if (locked == 0) return fd;
  return absl::PermissionDeniedError(absl::StrCat(path, ": ", strerror(errno)));
}

}  // namespace

absl::StatusOr<Trust> GetTrust(const std::string& url) {
  Trust trust;
  trust.name = GetEnv("DET_MASTER_CERT_NAME");
  const std::string file = GetEnv("DET_MASTER_CERT_FILE");
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
  DET_ASSIGN_OR_RETURN(const Json store, LoadCertificates());
  const auto kept = store.find(url);
  if (kept != store.end() && kept->is_string()) trust.certificates = kept->get<std::string>();
  return trust;
}

absl::Status SaveCertificates(const std::string& url, const std::string& certificates) {
  const std::string path = StorePath();
  DET_RETURN_IF_ERROR(base::MakeDirs(path.substr(0, path.rfind('/'))));
  DET_ASSIGN_OR_RETURN(const base::Fd lock, Lock());
  DET_ASSIGN_OR_RETURN(Json store, LoadCertificates());
  if (certificates.empty()) {
    if (store.erase(url) == 0) return absl::OkStatus();
  } else {
    store[url] = certificates;
  }
  const std::string text = store.dump(2, ' ', false, Json::error_handler_t::replace);
  return base::WriteFileAtomically(path, text + "\n", 0600);
}

}  // namespace det::cli
