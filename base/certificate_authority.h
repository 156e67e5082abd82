// Certificates for TLS: a private certificate authority and the certificates that it signs. Keys
// are on the curve P-256. Used by `det deploy local` and by tests, on any thread. Neither reads nor
// writes files.
#ifndef BASE_CERTIFICATE_AUTHORITY_H_
#define BASE_CERTIFICATE_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::base {

// Both in PEM. The holder of the key acts as the subject of the certificate.
struct CertificateAndKey {
  std::string certificate;
  std::string key;
};

// Creates a self-signed certificate that can sign others. It is valid from `from` until `until`.
absl::StatusOr<CertificateAndKey> MakeCertificateAuthority(const std::string& name, absl::Time from,
                                                           absl::Time until);

enum class CertificateUse { kServer, kClient };

struct CertificateRequest {
  std::string name;                // common name of the subject
  std::vector<std::string> hosts;  // DNS names and IP addresses of the server
  CertificateUse use = CertificateUse::kServer;
  absl::Time from;
  absl::Time until;
};

// Creates a key and a certificate that `authority` signs. Returns INVALID_ARGUMENT if `authority`
// is not a certificate with its own key.
absl::StatusOr<CertificateAndKey> SignCertificate(const CertificateAndKey& authority,
                                                  const CertificateRequest& request);

}  // namespace det::base

#endif  // BASE_CERTIFICATE_AUTHORITY_H_
