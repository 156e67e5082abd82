// The certificate of the one port, and by whom agents' certificates must be signed: files, read
// once before the master listens, and again whenever they have changed. New ones count for new
// connections; files that are no good then change nothing, with a line in the log.
//
// Loaded by master.cc; asked by each new connection, on any thread.
#ifndef MASTER_GATEWAY_TLS_KEYS_H_
#define MASTER_GATEWAY_TLS_KEYS_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace boost::asio::ssl {
class context;
}  // namespace boost::asio::ssl

namespace det::gateway {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate;  // and those between it and its authority
  std::string key;
  std::string client_authority;  // empty: nobody is asked for a certificate
};

class TlsKeys {
 public:
  // One line that names the flag and the file: that cannot be read, that are not a pair, whose time
  // is over.
  static absl::StatusOr<std::shared_ptr<TlsKeys>> Load(TlsFiles files);

  // As of the files now, or as they last were good.
  std::shared_ptr<boost::asio::ssl::context> Current();

  bool requires_client_certificate() const { return !files_.client_authority.empty(); }

 private:
  // Of each file: number, size and time of change; empty: it is not there.
  using FileVersions = std::vector<std::string>;

  explicit TlsKeys(TlsFiles files) : files_(std::move(files)) {}
  FileVersions ReadVersions() const;

  const TlsFiles files_;
  std::mutex mutex_;
  FileVersions versions_;  // of the last that were read, good or not
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TLS_KEYS_H_
