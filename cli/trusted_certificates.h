// Decides which certificates of masters are trusted. Used by http_client for each connection and by
// commands that store certificates, on any thread. Reads the environment and one small file.
#ifndef CLI_TRUSTED_CERTIFICATES_H_
#define CLI_TRUSTED_CERTIFICATES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::cli {

struct Trust {
  bool verify = true;
  // PEM of authorities or of the master itself; empty: the system's authorities.
  std::string certificates;
  std::string name;  // expected name in the certificate; empty: the host of the URL
};

// Returns the trust settings from $DET_MASTER_CERT_FILE (a file, or "noverify") and
// $DET_MASTER_CERT_NAME, else the stored certificates of `url` (in the form of CanonicalUrl), else
// the system's authorities. Returns INVALID_ARGUMENT if a file cannot be read, including
// certs.json.
absl::StatusOr<Trust> GetTrust(const std::string& url);

// Stores certificates in certs.json next to auth.json (token_cache.h); empty `certificates` removes
// the entry. Concurrent updates are not lost. A damaged file is not changed, and the error names
// it.
absl::Status SaveCertificates(const std::string& url, const std::string& certificates);

}  // namespace det::cli

#endif  // CLI_TRUSTED_CERTIFICATES_H_
