// The TLS settings of an agent: how it verifies masters, and its own certificate. main.cc reads
// them before the agent starts and passes them to tasks; master_link reads them again before it
// connects.
#ifndef AGENT_LINK_TLS_OPTIONS_H_
#define AGENT_LINK_TLS_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::agent {

// All texts except the name are PEM.
struct TlsOptions {
  std::string authority;    // CA certificates for masters; empty: the system's CAs
  std::string master_name;  // name in masters' certificates; empty: the host of their address
  std::string certificate;  // of this agent; empty: no client certificate
  std::string key;
  // The files that the texts were read from; empty: not set, or unknown.
  std::string authority_file;
  std::string certificate_file;
  std::string key_file;
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// Reads the files of the flags --tls-ca, --tls-cert and --tls-key, each of which may be empty.
// Errors name the flag, the file and the remedy.
absl::StatusOr<TlsOptions> ReadTlsOptions(const std::string& authority_file,
                                          const std::string& certificate_file,
                                          const std::string& key_file);

// Reads the files again. Returns nullopt if they have not changed or are not valid; the previous
// contents remain in use then. Logs why new files are not valid.
std::optional<TlsOptions> ReloadTlsOptions(const TlsOptions& options);

// Returns a hint for a connection failure reported by gRPC, such as "; use ..."; empty if TLS is
// not the cause. `tls` is whether the connection uses TLS.
std::string GetTlsHint(absl::string_view why, bool tls);

}  // namespace det::agent

#endif  // AGENT_LINK_TLS_OPTIONS_H_
