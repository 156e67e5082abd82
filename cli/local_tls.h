// The authority of a local cluster and what it signs, in <data dir>/tls: ca.crt, made once and good
// for ten years, and the certificates of master and agents, made anew whenever one is started. The
// keys are readable by their owner alone.
// Called by local_cluster, on the main thread, with the data directory locked.
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
  // With the authority that is in the folder, or a new one.
  static absl::StatusOr<LocalTls> Open(const std::string& folder);

  const std::string& authority() const { return authority_.certificate; }

  // Each makes a certificate and adds the flags that name it: the master's is good for localhost
  // and for this machine's name, an agent's for agents alone.
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
