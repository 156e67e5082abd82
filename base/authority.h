// Certificates for TLS: an authority of one's own, and what it signs. Keys are on the curve P-256.
// Called by `det deploy local` and by tests, on any thread. Reads and writes no files.
#ifndef BASE_AUTHORITY_H_
#define BASE_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::base {

// Both PEM. Whoever has the key is whom the certificate names.
struct KeyedCertificate {
  std::string certificate;
  std::string key;
};

// Signs others and is signed by itself.
absl::StatusOr<KeyedCertificate> MakeAuthority(const std::string& name, absl::Time from,
                                               absl::Time until);

enum class CertificateUse { kServer, kClient };

struct CertificateWish {
  std::string name;                // of its owner, for people
  std::vector<std::string> hosts;  // names and addresses by which a server is reached
  CertificateUse use = CertificateUse::kServer;
  absl::Time from;
  absl::Time until;
};

// INVALID_ARGUMENT where `authority` is no certificate with its key.
absl::StatusOr<KeyedCertificate> Sign(const KeyedCertificate& authority,
                                      const CertificateWish& wish);

}  // namespace det::base

#endif  // BASE_AUTHORITY_H_
