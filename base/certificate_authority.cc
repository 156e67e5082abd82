#include "base/certificate_authority.h"

#include <arpa/inet.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace det::base {
namespace {

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Deleter<X509_free>>;
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;

constexpr long kVersion3 = 2;
constexpr int kSerialBytes = 16;

absl::Status Failed(absl::string_view what) {
  const char* reason = ::ERR_reason_error_string(::ERR_get_error());
  ::ERR_clear_error();
  return absl::InternalError(absl::StrCat("cannot ", what, reason == nullptr ? "" : ": ",
                                          reason == nullptr ? "" : reason));
}

template <class Write>
std::string ToPem(Write write) {
  const Bio bio(::BIO_new(::BIO_s_mem()));
  char* text = nullptr;
  if (bio == nullptr || write(bio.get()) != 1) return "";
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

CertificateAndKey ToPem(X509* certificate, EVP_PKEY* key) {
  return {ToPem([&](BIO* out) { return ::PEM_write_bio_X509(out, certificate); }),
          ToPem([&](BIO* out) {
            return ::PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

// "DNS:a,IP:1.2.3.4"
std::string AlternativeNames(const std::vector<std::string>& hosts) {
  return absl::StrJoin(hosts, ",", [](std::string* out, const std::string& host) {
    unsigned char address[sizeof(in6_addr)];
    const bool numbers = ::inet_pton(AF_INET, host.c_str(), address) == 1 ||
                         ::inet_pton(AF_INET6, host.c_str(), address) == 1;
    absl::StrAppend(out, numbers ? "IP:" : "DNS:", host);
  });
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  ::X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && ::X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetSerial(X509* certificate) {
  unsigned char bytes[kSerialBytes];
  if (::RAND_bytes(bytes, sizeof(bytes)) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, of full length
  const std::unique_ptr<BIGNUM, Deleter<BN_free>> number(
      ::BN_bin2bn(bytes, sizeof(bytes), nullptr));
  return number != nullptr &&
         ::BN_to_ASN1_INTEGER(number.get(), ::X509_get_serialNumber(certificate)) != nullptr;
}

// Returns a certificate without issuer and signature, or null on failure.
X509Ptr MakeUnsigned(const std::string& name, absl::Time from, absl::Time until, EVP_PKEY* key) {
  X509Ptr certificate(::X509_new());
  if (certificate == nullptr) return nullptr;
  X509* const raw = certificate.get();
  const bool filled = ::X509_set_version(raw, kVersion3) == 1 && SetSerial(raw) &&
                      ::ASN1_TIME_set(::X509_getm_notBefore(raw), absl::ToTimeT(from)) != nullptr &&
                      ::ASN1_TIME_set(::X509_getm_notAfter(raw), absl::ToTimeT(until)) != nullptr &&
                      ::X509_NAME_add_entry_by_NID(
                          ::X509_get_subject_name(raw), NID_commonName, MBSTRING_UTF8,
                          reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1 &&
                      ::X509_set_pubkey(raw, key) == 1;
  return filled ? std::move(certificate) : nullptr;
}

}  // namespace

absl::StatusOr<CertificateAndKey> MakeCertificateAuthority(const std::string& name, absl::Time from,
                                                           absl::Time until) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("create a key");
  const X509Ptr certificate = MakeUnsigned(name, from, until, key.get());
  X509* const raw = certificate.get();
  const bool made = raw != nullptr &&
                    ::X509_set_issuer_name(raw, ::X509_get_subject_name(raw)) == 1 &&
                    AddExtension(raw, raw, NID_basic_constraints, "critical,CA:TRUE") &&
                    AddExtension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    AddExtension(raw, raw, NID_subject_key_identifier, "hash") &&
                    ::X509_sign(raw, key.get(), ::EVP_sha256()) > 0;
  if (!made) return Failed("create a certificate");
  return ToPem(raw, key.get());
}

absl::StatusOr<CertificateAndKey> SignCertificate(const CertificateAndKey& authority,
                                                  const CertificateRequest& request) {
  const Bio certificate_text(::BIO_new_mem_buf(authority.certificate.data(), -1));
  const Bio key_text(::BIO_new_mem_buf(authority.key.data(), -1));
  const X509Ptr issuer(::PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key issuer_key(::PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (issuer == nullptr || issuer_key == nullptr ||
      ::X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ::ERR_clear_error();
    return absl::InvalidArgumentError("the authority's certificate and key do not belong together");
  }
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Failed("create a key");
  const X509Ptr certificate = MakeUnsigned(request.name, request.from, request.until, key.get());
  X509* const raw = certificate.get();
  const bool server = request.use == CertificateUse::kServer;
  const bool made =
      raw != nullptr && ::X509_set_issuer_name(raw, ::X509_get_subject_name(issuer.get())) == 1 &&
      AddExtension(raw, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(raw, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      AddExtension(raw, issuer.get(), NID_ext_key_usage, server ? "serverAuth" : "clientAuth") &&
      AddExtension(raw, issuer.get(), NID_subject_key_identifier, "hash") &&
      AddExtension(raw, issuer.get(), NID_authority_key_identifier, "keyid") &&
      (request.hosts.empty() ||
       AddExtension(raw, issuer.get(), NID_subject_alt_name, AlternativeNames(request.hosts))) &&
      ::X509_sign(raw, issuer_key.get(), ::EVP_sha256()) > 0;
  if (!made) return Failed("create a certificate");
  return ToPem(raw, key.get());
}

}  // namespace det::base
