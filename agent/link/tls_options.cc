#include "agent/link/tls_options.h"

#include <memory>
#include <utility>

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

// Prevents OpenSSL from asking for a password on the terminal.
int NoPassword(char*, int, int, void*) { return 0; }

Bio MakeBio(const std::string& pem) {
  return Bio(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), ::BIO_free);
}
Certificate ParseCertificate(const std::string& pem) {
  return Certificate(::PEM_read_bio_X509(MakeBio(pem).get(), nullptr, NoPassword, nullptr),
                     ::X509_free);
}
Key ParseKey(const std::string& pem) {
  return Key(::PEM_read_bio_PrivateKey(MakeBio(pem).get(), nullptr, NoPassword, nullptr),
             ::EVP_PKEY_free);
}

absl::Status MakeFileError(const char* flag, const std::string& path, absl::string_view what) {
  ::ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, ": ", what));
}

absl::StatusOr<std::string> Read(const char* flag, const std::string& path) {
  absl::StatusOr<std::string> text = base::ReadFile(path);
  return text.ok() ? text : MakeFileError(flag, path, text.status().message());
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
    if (ParseCertificate(options.authority) == nullptr) {
      return MakeFileError("--tls-ca", authority_file,
                           "does not contain a certificate in PEM format");
    }
  }
  if (certificate_file.empty() != key_file.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key must be set together");
  }
  if (certificate_file.empty()) return options;
  DET_ASSIGN_OR_RETURN(options.certificate, Read("--tls-cert", certificate_file));
  DET_ASSIGN_OR_RETURN(options.key, Read("--tls-key", key_file));
  const Certificate certificate = ParseCertificate(options.certificate);
  if (certificate == nullptr) {
    return MakeFileError("--tls-cert", certificate_file,
                         "does not contain a certificate in PEM format");
  }
  if (::X509_cmp_current_time(::X509_get0_notAfter(certificate.get())) < 0) {
    return MakeFileError("--tls-cert", certificate_file,
                         "has expired; issue a new certificate for this agent");
  }
  const Key key = ParseKey(options.key);
  if (key == nullptr)
    return MakeFileError("--tls-key", key_file, "does not contain an unencrypted private key");
  if (::X509_check_private_key(certificate.get(), key.get()) == 1) return options;
  return MakeFileError("--tls-key", key_file,
                       absl::StrCat("does not match the certificate ", certificate_file));
}

std::optional<TlsOptions> ReloadTlsOptions(const TlsOptions& options) {
  if (options.authority_file.empty() && options.certificate_file.empty()) return std::nullopt;
  absl::StatusOr<TlsOptions> now =
      ReadTlsOptions(options.authority_file, options.certificate_file, options.key_file);
  if (!now.ok()) {
    DET_LOG(WARNING) << "cannot reload the TLS files; keeping the previous ones"
                     << base::Field("reason", now.status().message());
    return std::nullopt;
  }
  now->master_name = options.master_name;
  if (*now == options) return std::nullopt;
  DET_LOG(INFO) << "reloaded the TLS files";
  return *std::move(now);
}

std::string GetTlsHint(absl::string_view why, bool tls) {
  const auto contains = [&](absl::string_view words) { return absl::StrContains(why, words); };
  if (!tls) return contains("http1.x server") ? "; if the master uses TLS, use https://" : "";
  if (contains("certificate verify failed")) {
    return "; the master's certificate is not signed by the CA of --tls-ca (default: system CAs)";
  }
  if (contains("not in peer certificate"))
    return "; set --tls-master-name to the name in the master's certificate";
  return contains("wrong version number") ? "; if the master does not use TLS, use http://" : "";
}

}  // namespace det::agent
