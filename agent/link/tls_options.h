// By what an agent knows its master over https, and what it shows of itself.
// Read once, before the agent starts, by main.cc; used by master_link and told to tasks.
#ifndef AGENT_LINK_TLS_OPTIONS_H_
#define AGENT_LINK_TLS_OPTIONS_H_

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
};

// From the files that the flags --tls-ca, --tls-cert and --tls-key name, each of which may be
// empty. Errors name the flag, the file and what to do.
absl::StatusOr<TlsOptions> ReadTlsOptions(const std::string& authority_file,
                                          const std::string& certificate_file,
                                          const std::string& key_file);

// What to do about a connection that gRPC says has failed so, as "; name ..."; empty where TLS has
// nothing to do with it. `tls`: whether it was to be one.
std::string TlsAdvice(absl::string_view why, bool tls);

}  // namespace det::agent

#endif  // AGENT_LINK_TLS_OPTIONS_H_
