// By what an agent knows its master over https, and what it shows of itself.
// Read before the agent starts, by main.cc, and told to tasks then; used by master_link, which
// reads it again before it connects.
#ifndef AGENT_LINK_TLS_OPTIONS_H_
#define AGENT_LINK_TLS_OPTIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace det::agent {

// All but the name: PEM.
struct TlsOptions {
  std::string authority;    // whose certificates masters show; empty: the system's authorities
  std::string master_name;  // what they are called there; empty: as in their address
  std::string certificate;  // of this agent; empty: none is shown
  std::string key;
  // The files that they are from; empty: none, or not known.
  std::string authority_file, certificate_file, key_file;
  friend bool operator==(const TlsOptions&, const TlsOptions&) = default;
};

// From the files that the flags --tls-ca, --tls-cert and --tls-key name, each of which may be
// empty. Errors name the flag, the file and what to do.
absl::StatusOr<TlsOptions> ReadTlsOptions(const std::string& authority_file,
                                          const std::string& certificate_file,
                                          const std::string& key_file);

// As the files are now, if they have changed and are good; nullopt: those that there were are to be
// used on. Says in the log what is wrong with new ones.
std::optional<TlsOptions> RenewedTlsOptions(const TlsOptions& options);

// What to do about a connection that gRPC says has failed so, as "; name ..."; empty where TLS has
// nothing to do with it. `tls`: whether it was to be one.
std::string TlsAdvice(absl::string_view why, bool tls);

}  // namespace det::agent

#endif  // AGENT_LINK_TLS_OPTIONS_H_
