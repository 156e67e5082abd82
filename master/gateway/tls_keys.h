// The certificate of the public port, and the authority that must sign agents' certificates. The
// files are read before the master listens, and again whenever they change. New files apply to new
// connections; if they are invalid, the previous ones stay in use and a warning is logged.
//
// Loaded by master.cc; used by each new connection, on any thread.
#ifndef MASTER_GATEWAY_TLS_KEYS_H_
#define MASTER_GATEWAY_TLS_KEYS_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace boost::asio::ssl {
class context;
}  // namespace boost::asio::ssl

namespace det::gateway {

// Paths of PEM files.
struct TlsFiles {
  std::string certificate;  // with intermediate certificates
  std::string key;
  std::string client_authority;  // empty: clients need no certificate
};

class TlsKeys {
 public:
  // Errors are one line that names the flag and the file: unreadable, not a pair, or expired.
  static absl::StatusOr<std::shared_ptr<TlsKeys>> Load(TlsFiles files);

  // The context for the current files, or for the last valid ones.
  std::shared_ptr<boost::asio::ssl::context> Current();

  bool requires_client_certificate() const { return !files_.client_authority.empty(); }

 private:
  // Inode, size and modification time of each file; empty: it does not exist.
  using FileVersions = std::vector<std::string>;

  explicit TlsKeys(TlsFiles files) : files_(std::move(files)) {}
  FileVersions ReadVersions() const;

  const TlsFiles files_;
  std::mutex mutex_;
  FileVersions versions_;  // of the files that were read last, valid or not
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace det::gateway

#endif  // MASTER_GATEWAY_TLS_KEYS_H_
