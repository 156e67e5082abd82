// TLS on a connected socket that does not block.
// Used by http_client and by `det master trust`, on any thread. Waits only where it says so, and
// then ends when det is interrupted. The socket stays its owner's.
#ifndef CLI_TLS_H_
#define CLI_TLS_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/trusted_certificates.h"

namespace det::cli {

class TlsStream {
 public:
  // Shakes hands, which waits. `url`: "https://host:port". FAILED_PRECONDITION where the other does
  // not speak TLS, or is not to be trusted: with the fingerprint of its certificate, and what to
  // do. UNAVAILABLE when it goes away meanwhile.
  static absl::StatusOr<std::unique_ptr<TlsStream>> Open(int fd, const std::string& url,
                                                         const Trust& trust,
                                                         absl::Duration timeout);
  virtual ~TlsStream() = default;

  // As recv and send. -1: nothing yet, to be tried again after one of `*events` of poll; or, when
  // these are 0, the connection is broken.
  virtual ssize_t Read(void* data, size_t size, short* events) = 0;
  virtual ssize_t Write(const void* data, size_t size, short* events) = 0;

  // Of the other: PEM, and SHA-256 as "AB:CD:...".
  virtual std::string Certificate() const = 0;
  virtual std::string Fingerprint() const = 0;
};

}  // namespace det::cli

#endif  // CLI_TLS_H_
