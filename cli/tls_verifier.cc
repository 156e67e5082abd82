#include "cli/tls_verifier.h"

#include <arpa/inet.h>

#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include <curl/curl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

namespace det::cli {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;

std::string GetHost(absl::string_view url) {
  absl::ConsumePrefix(&url, "https://");
  absl::string_view host = url.substr(0, url.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return std::string(host);
}

bool IsAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

// Adds the certificates of the text to the store; returns whether there are any.
bool AddTrusted(X509_STORE* store, const std::string& pem) {
  const Bio text(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  bool any = false;
  while (const X509Ptr each{::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    any = ::X509_STORE_add_cert(store, each.get()) == 1 || any;
  }
  ::ERR_clear_error();
  return any;
}

bool Contains(const std::string& pem, const X509* certificate) {
  const Bio text(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  bool found = false;
  while (const X509Ptr each{::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    found = found || ::X509_cmp(certificate, each.get()) == 0;
  }
  ::ERR_clear_error();
  return found;
}

std::string ToPem(X509* certificate) {
  const Bio out(::BIO_new(::BIO_s_mem()));
  char* text = nullptr;
  if (::PEM_write_bio_X509(out.get(), certificate) != 1) return "";
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

std::string ToFingerprint(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (::X509_digest(certificate, ::EVP_sha256(), digest, &size) != 1) return "";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    absl::StrAppendFormat(&text, "%s%02X", i == 0 ? "" : ":", digest[i]);
  }
  return text;
}

}  // namespace

TlsVerifier::TlsVerifier(std::string url, Trust trust)
    : url_(std::move(url)),
      name_(trust.name.empty() ? GetHost(url_) : trust.name),
      trust_(std::move(trust)) {}

struct TlsVerifier::Callbacks {
  static CURLcode SetUpContext(CURL*, void* context, void* self) {
    const bool trusts =
        static_cast<TlsVerifier*>(self)->ConfigureContext(static_cast<SSL_CTX*>(context));
    return trusts ? CURLE_OK : CURLE_SSL_CACERT_BADFILE;
  }

  static int VerifyChain(X509_STORE_CTX* chain, void* self) {
    if (!static_cast<TlsVerifier*>(self)->Accept(chain)) return 0;
    // libcurl checks this result again after the handshake.
    ::X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
  }
};

bool TlsVerifier::ConfigureContext(ssl_ctx_st* context) {
  X509_STORE* const store = ::X509_STORE_new();
  ::SSL_CTX_set_cert_store(context, store);  // takes ownership
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (trust_.certificates.empty()) {
    ::SSL_CTX_set_default_verify_paths(context);
  } else if (!AddTrusted(store, trust_.certificates)) {
    has_trusted_ = false;
  }
  ::SSL_CTX_set_cert_verify_callback(context, Callbacks::VerifyChain, this);
  return has_trusted_;
}

std::string TlsVerifier::server_name() const { return IsAddress(name_) ? "" : name_; }

void TlsVerifier::Configure(void* easy) {
  const size_t port = url_.rfind(':');
  std::string url = url_;
  if (!trust_.name.empty() && !IsAddress(trust_.name)) {
    // The name is also sent as the server name (SNI), while the connection goes to the URL's host.
    url = absl::StrCat("https://", trust_.name, url_.substr(port));
    const std::string address = absl::StrCat("::", absl::StripPrefix(url_, "https://"));
    connect_to_.reset(curl_slist_append(nullptr, address.c_str()));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  }
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  // Accept() verifies the chain and the name. With VERIFYPEER off, OpenSSL would ignore its
  // result.
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
  curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, Callbacks::SetUpContext);
  curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, this);
}

bool TlsVerifier::Accept(x509_store_ctx_st* chain) {
  X509* const own = ::X509_STORE_CTX_get0_cert(chain);
  certificate_ = ToPem(own);
  fingerprint_ = ToFingerprint(own);
  if (!trust_.verify) return true;
  X509_VERIFY_PARAM* const expected = ::X509_STORE_CTX_get0_param(chain);
  if (IsAddress(name_)) {
    ::X509_VERIFY_PARAM_set1_ip_asc(expected, name_.c_str());
  } else {
    ::X509_VERIFY_PARAM_set1_host(expected, name_.c_str(), name_.size());
  }
  const bool valid = ::X509_verify_cert(chain) == 1;
  const int error = ::X509_STORE_CTX_get_error(chain);
  if (valid && error == X509_V_OK) return true;
  // A certificate that was trusted for this URL is accepted with any name.
  if (Contains(trust_.certificates, own)) return true;
  error_ = ::X509_verify_cert_error_string(error);
  return false;
}

absl::Status TlsVerifier::ToStatus(absl::string_view error_text) const {
  if (!has_trusted_) {
    return absl::InvalidArgumentError(
        "DET_MASTER_CERT_FILE has no certificate; set it to a file in PEM format");
  }
  if (!error_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the certificate of ", url_, " is not trusted (", error_, "; its SHA-256 fingerprint is ",
        fingerprint_, "); if it is the master's certificate, run `det -m ", url_,
        " master trust FINGERPRINT`, or set DET_MASTER_CERT_FILE to the file of its certificate "
        "authority"));
  }
  if (absl::StrContains(error_text, "wrong version number")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server at ", url_, " does not use TLS; use http:// instead"));
  }
  if (absl::StrContains(error_text, "SSL_ERROR_SYSCALL") ||
      absl::StrContains(error_text, "Connection reset") ||
      absl::StrContains(error_text, "unexpected eof")) {
    return absl::UnavailableError("the connection was closed during the TLS handshake");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("TLS handshake failed with ", url_, ": ", error_text));
}

}  // namespace det::cli
