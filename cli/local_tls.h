// The certificate authority of a local cluster, stored in <data dir>/tls. ca.crt is created once
// and valid for ten years; the certificates of the master and the agents are created at each start.
// Keys are readable only by their owner. Used by local_cluster on the main thread, with the data
// directory locked.
#ifndef CLI_LOCAL_TLS_H_
#define CLI_LOCAL_TLS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/certificate_authority.h"

namespace det::cli {

class LocalTls {
 public:
  // Opens the authority in the folder, or creates one.
  static absl::StatusOr<LocalTls> Open(const std::string& folder);

  const std::string& authority() const { return authority_.certificate; }

  // Each creates a certificate and adds the flags that name it. The master's certificate is valid
  // for localhost and the name of this machine; an agent's is a client certificate.
  absl::Status AddMasterFlags(std::vector<std::string>* flags) const;
  absl::Status AddAgentFlags(const std::string& id, std::vector<std::string>* flags) const;

 private:
  LocalTls(std::string folder, base::CertificateAndKey authority)
      : folder_(std::move(folder)), authority_(std::move(authority)) {}

  std::string folder_;
  base::CertificateAndKey authority_;
};

}  // namespace det::cli

#endif  // CLI_LOCAL_TLS_H_
