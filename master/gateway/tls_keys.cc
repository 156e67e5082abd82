#include "master/gateway/tls_keys.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include <boost/asio/ssl/context.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace det::gateway {
namespace {

namespace ssl = boost::asio::ssl;
using Context = std::shared_ptr<ssl::context>;

absl::Status MakeTlsError(const char* flag, const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, ": ", what));
}

// OpenSSL's error message.
std::string Reason() {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  ::ERR_clear_error();
  return reason == nullptr ? "it is not a PEM file" : reason;
}

absl::Status CheckReadable(const char* flag, const std::string& path) {
  const absl::Status read = base::ReadFile(path).status();
  return read.ok() ? read : MakeTlsError(flag, path, std::string(read.message()));
}

// Otherwise OpenSSL would ask for a key's password on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

// Selects HTTP/1.1 for clients that offer both, such as browsers and curl: HTTP/2 is only used for
// gRPC.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  for (const std::string_view supported : {std::string_view("http/1.1"), std::string_view("h2")}) {
    for (unsigned int at = 0; at + 1 <= offered_size; at += 1u + offered[at]) {
      const std::string_view name(reinterpret_cast<const char*>(offered + at + 1),
                                  std::min<size_t>(offered[at], offered_size - at - 1));
      if (name != supported) continue;
      *chosen = offered + at + 1;
      *size = offered[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// An invalid certificate is treated like none: the handshake succeeds, and the agents' service
// reports the error. The result stays with the connection (SSL_get_verify_result).
int LogCertificate(X509_STORE_CTX* check, void*) {
  ::X509_verify_cert(check);
  return 1;
}

absl::Status UseCertificate(const TlsFiles& files, SSL_CTX* context) {
  DET_RETURN_IF_ERROR(CheckReadable("--tls-cert", files.certificate));
  DET_RETURN_IF_ERROR(CheckReadable("--tls-key", files.key));
  if (::SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1) {
    return MakeTlsError("--tls-cert", files.certificate, "is not a certificate: " + Reason());
  }
  const X509* own = ::SSL_CTX_get0_certificate(context);
  if (::X509_cmp_current_time(::X509_get0_notAfter(own)) < 0) {
    return MakeTlsError("--tls-cert", files.certificate, "has expired; renew it");
  }
  if (::X509_cmp_current_time(::X509_get0_notBefore(own)) > 0) {
    return MakeTlsError("--tls-cert", files.certificate,
                        "is not valid yet; is this machine's clock right?");
  }
  ::SSL_CTX_set_default_passwd_cb(context, NoPassword);
  if (::SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
      ::SSL_CTX_check_private_key(context) == 1) {
    return absl::OkStatus();
  }
  const bool pair = ERR_GET_REASON(::ERR_peek_last_error()) != X509_R_KEY_VALUES_MISMATCH;
  const std::string reason = Reason();
  return MakeTlsError("--tls-key", files.key,
                      pair
                          ? "is not a key without a password: " + reason
                          : absl::StrCat("does not belong to the certificate ", files.certificate));
}

absl::Status RequireClientCertificates(const TlsFiles& files, SSL_CTX* context) {
  DET_RETURN_IF_ERROR(CheckReadable("--tls-client-ca", files.client_authority));
  STACK_OF(X509_NAME)* const names = ::SSL_load_client_CA_file(files.client_authority.c_str());
  if (names == nullptr ||
      ::SSL_CTX_load_verify_file(context, files.client_authority.c_str()) != 1) {
    return MakeTlsError("--tls-client-ca", files.client_authority,
                        "holds no certificate: " + Reason());
  }
  // So that browsers do not offer certificates of other authorities.
  ::SSL_CTX_set_client_CA_list(context, names);
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_cert_verify_callback(context, LogCertificate, nullptr);
  return absl::OkStatus();
}

absl::StatusOr<Context> Read(const TlsFiles& files) {
  auto made = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const context = made->native_handle();
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // Disables session resumption: every connection presents its certificate.
  ::SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_num_tickets(context, 0);
  ::SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  ::SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  ::ERR_clear_error();
  DET_RETURN_IF_ERROR(UseCertificate(files, context));
  if (!files.client_authority.empty())
    DET_RETURN_IF_ERROR(RequireClientCertificates(files, context));
  return made;
}

std::string ReadVersion(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return "";
  return absl::StrCat(info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec, " ", info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec);
}

}  // namespace

absl::StatusOr<std::shared_ptr<TlsKeys>> TlsKeys::Load(TlsFiles files) {
  std::shared_ptr<TlsKeys> keys(new TlsKeys(std::move(files)));
  keys->versions_ = keys->ReadVersions();
  DET_ASSIGN_OR_RETURN(keys->context_, Read(keys->files_));
  return keys;
}

TlsKeys::FileVersions TlsKeys::ReadVersions() const {
  return {ReadVersion(files_.certificate), ReadVersion(files_.key),
          ReadVersion(files_.client_authority)};
}

Context TlsKeys::Current() {
  std::lock_guard lock(mutex_);
  FileVersions versions = ReadVersions();
  if (versions == versions_) return context_;
  versions_ = std::move(versions);
  absl::StatusOr<Context> read = Read(files_);
  if (read.ok()) {
    context_ = *std::move(read);
    DET_LOG(INFO) << "TLS certificate reloaded" << base::Field("file", files_.certificate);
  } else {
    DET_LOG(WARNING) << "TLS reload failed; keeping the previous certificate"
                     << base::Field("why", read.status().message());
  }
  return context_;
}

}  // namespace det::gateway
