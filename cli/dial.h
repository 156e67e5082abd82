// Sockets on their way to "http://host:port" or "https://host:port".
// For http_client and roll_call. Resolving a name waits, nothing else here does.
#ifndef CLI_DIAL_H_
#define CLI_DIAL_H_

#include <netdb.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fd.h"

namespace det::cli {

// A list; not empty.
using Addresses = std::unique_ptr<const addrinfo, void (*)(const addrinfo*)>;

// UNAVAILABLE when nobody knows the host.
absl::StatusOr<Addresses> Resolve(absl::string_view url);

// Begins: writable once it is decided how it went.
absl::StatusOr<base::Fd> Dial(const addrinfo& address);

// How it went. UNAVAILABLE: nobody is there.
absl::Status DialResult(const base::Fd& fd);

}  // namespace det::cli

#endif  // CLI_DIAL_H_
