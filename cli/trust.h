// By what the certificate of a master is taken for good.
// Called by http_client for each connection, and by those who keep certificates, on any thread.
// Reads the environment and one small file.
#ifndef CLI_TRUST_H_
#define CLI_TRUST_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::cli {

struct Trust {
  bool verify = true;
  std::string certificates;  // PEM: authorities, or the master's own; empty: the system's
  std::string name;          // in its certificate; empty: as in its address
};

// By $DET_MASTER_CERT_FILE (a file, or "noverify") with $DET_MASTER_CERT_NAME, else by what is
// remembered of `url` (as by CanonicalUrl), else by the system's authorities. INVALID_ARGUMENT for
// a file that cannot be read, certs.json too.
absl::StatusOr<Trust> TrustFor(const std::string& url);

// In certs.json beside auth.json (token_cache.h). With an empty `certificates` it is forgotten.
// Of several at a time none is lost; a damaged file is left alone, and named.
absl::Status RememberCertificates(const std::string& url, const std::string& certificates);

}  // namespace det::cli

#endif  // CLI_TRUST_H_
