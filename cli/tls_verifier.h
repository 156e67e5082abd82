// Verifies the certificate of a TLS server for libcurl and for OpenSSL: against the trusted
// certificates of its URL (trusted_certificates.h), and with an error that names the certificate
// and what to do. Used by http_client and tunnel on any thread, one object per connection.
#ifndef CLI_TLS_VERIFIER_H_
#define CLI_TLS_VERIFIER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/curl_transfer.h"
#include "cli/trusted_certificates.h"

struct ssl_ctx_st;
struct x509_store_ctx_st;

namespace det::cli {

class TlsVerifier {
 public:
  // `url` is "https://host:port".
  TlsVerifier(std::string url, Trust trust);
  TlsVerifier(const TlsVerifier&) = delete;

  // Sets the URL and the TLS options of a transfer. The verifier must outlive the transfer.
  void Configure(void* easy);

  // Sets the TLS options of a context, whose connections the verifier must outlive. Returns false
  // if the file of trusted certificates has none: ToStatus() has the error.
  bool ConfigureContext(ssl_ctx_st* context);

  // Returns the name that is sent to the server (SNI); empty if it is an address.
  std::string server_name() const;

  // Returns why the handshake failed, from the error text of libcurl or OpenSSL:
  // FAILED_PRECONDITION if the server does not use TLS or its certificate is not trusted,
  // UNAVAILABLE if it closed the connection, INVALID_ARGUMENT if the file of trusted certificates
  // has none.
  absl::Status ToStatus(absl::string_view error_text) const;

  // The server's certificate as PEM and its SHA-256 as "AB:CD:..."; empty before the handshake.
  const std::string& certificate() const { return certificate_; }
  const std::string& fingerprint() const { return fingerprint_; }

 private:
  struct Callbacks;  // of libcurl and OpenSSL

  bool Accept(x509_store_ctx_st* chain);

  const std::string url_;
  const std::string name_;  // expected in the certificate
  const Trust trust_;
  CurlList connect_to_;
  bool has_trusted_ = true;
  std::string error_;  // of the verification; empty: accepted or not verified yet
  std::string certificate_;
  std::string fingerprint_;
};

}  // namespace det::cli

#endif  // CLI_TLS_VERIFIER_H_
