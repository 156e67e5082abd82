#include "agent/link/tls_options.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/log.h"
#include "base/status_macros.h"
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace det::agent {
namespace {

using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;
using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&::BIO_free)>;

// A key with a password would be asked for on a terminal.
int NoPassword(char*, int, int, void*) { return 0; }

Bio TextOf(const std::string& pem) {
  return Bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), ::BIO_free);
}
Certificate CertificateOf(const std::string& pem) {
  return Certificate(::PEM_read_bio_X509(TextOf(pem).get(), nullptr, NoPassword, nullptr),
                     ::X509_free);
}
Key KeyOf(const std::string& pem) {
  return Key(::PEM_read_bio_PrivateKey(TextOf(pem).get(), nullptr, NoPassword, nullptr),
             ::EVP_PKEY_free);
}

absl::Status Bad(const char* flag, const std::string& path, absl::string_view what) {
  ::ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, ": ", what));
}

absl::StatusOr<std::string> Read(const char* flag, const std::string& path) {
  absl::StatusOr<std::string> text = base::ReadFile(path);
  return text.ok() ? text : Bad(flag, path, text.status().message());
}

}  // namespace

absl::StatusOr<TlsOptions> ReadTlsOptions(const std::string& authority_file,
                                          const std::string& certificate_file,
                                          const std::string& key_file) {
  TlsOptions options;
  options.authority_file = authority_file;
  options.certificate_file = certificate_file;
  options.key_file = key_file;
  if (!authority_file.empty()) {
    DET_ASSIGN_OR_RETURN(options.authority, Read("--tls-ca", authority_file));
    if (CertificateOf(options.authority) == nullptr) {
      return Bad("--tls-ca", authority_file, "holds no certificate in PEM form");
    }
  }
  if (certificate_file.empty() != key_file.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key belong together; give both");
  }
  if (certificate_file.empty()) return options;
  DET_ASSIGN_OR_RETURN(options.certificate, Read("--tls-cert", certificate_file));
  DET_ASSIGN_OR_RETURN(options.key, Read("--tls-key", key_file));
  const Certificate certificate = CertificateOf(options.certificate);
  if (certificate == nullptr) {
    return Bad("--tls-cert", certificate_file, "holds no certificate in PEM form");
  }
  if (::X509_cmp_current_time(::X509_get0_notAfter(certificate.get())) < 0) {
    return Bad("--tls-cert", certificate_file, "has expired; get this agent another one");
  }
  const Key key = KeyOf(options.key);
  if (key == nullptr) return Bad("--tls-key", key_file, "holds no key without a password");
  if (::X509_check_private_key(certificate.get(), key.get()) == 1) return options;
  return Bad("--tls-key", key_file,
             absl::StrCat("does not belong to the certificate ", certificate_file));
}

std::optional<TlsOptions> RenewedTlsOptions(const TlsOptions& options) {
  if (options.authority_file.empty() && options.certificate_file.empty()) return std::nullopt;
  absl::StatusOr<TlsOptions> now =
      ReadTlsOptions(options.authority_file, options.certificate_file, options.key_file);
  if (!now.ok()) {
    DET_LOG(WARNING) << "the files for TLS are no good; those read before are used on"
                     << base::Field("reason", now.status().message());
    return std::nullopt;
  }
  now->master_name = options.master_name;
  if (*now == options) return std::nullopt;
  DET_LOG(INFO) << "the files for TLS have changed and are used from here on";
  return *std::move(now);
}

std::string TlsAdvice(absl::string_view why, bool tls) {
  const auto says = [&](absl::string_view words) { return absl::StrContains(why, words); };
  if (!tls) return says("http1.x server") ? "; if it speaks TLS, use https://" : "";
  if (says("certificate verify failed")) {
    return "; its certificate is not by the authority of --tls-ca (without: the system's)";
  }
  if (says("not in peer certificate"))
    return "; name what its certificate says by --tls-master-name";
  return says("wrong version number") ? "; if it does not speak TLS, use http://" : "";
}

}  // namespace det::agent
