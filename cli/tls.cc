#include "cli/tls.h"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
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
using Context = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freer<SSL_free>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;
using Bio = std::unique_ptr<BIO, Freer<BIO_free>>;

std::string HostOf(absl::string_view url) {
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

// Adds what is in the text to what is trusted; false where that is nothing.
bool AddTrusted(SSL_CTX* context, const std::string& pem) {
  const Bio text(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  bool any = false;
  while (const X509Ptr each{::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
    any = ::X509_STORE_add_cert(::SSL_CTX_get_cert_store(context), each.get()) == 1 || any;
  }
  ::ERR_clear_error();
  return any;
}

class OpenSslStream final : public TlsStream {
 public:
  OpenSslStream(Session session, std::string url)
      : session_(std::move(session)), url_(std::move(url)) {}

  absl::Status Handshake(int fd, const Trust& trust, absl::Duration timeout) {
    while (true) {
      ::ERR_clear_error();
      const int done = ::SSL_connect(session_.get());
      if (done == 1) return Judge(trust);
      const short events = EventsAfter(done);
      if (events == 0) return NoTls();
      DET_RETURN_IF_ERROR(WaitFor(fd, events, timeout));
    }
  }

  ssize_t Read(void* data, size_t size, short* events) override {
    ::ERR_clear_error();
    const int got = ::SSL_read(session_.get(), data, Bounded(size));
    if (got > 0) return got;
    *events = EventsAfter(got);
    return ::SSL_get_error(session_.get(), got) == SSL_ERROR_ZERO_RETURN ? 0 : -1;
  }

  ssize_t Write(const void* data, size_t size, short* events) override {
    ::ERR_clear_error();
    const int sent = ::SSL_write(session_.get(), data, Bounded(size));
    if (sent > 0) return sent;
    *events = EventsAfter(sent);
    return -1;
  }

  std::string Certificate() const override {
    const X509Ptr own(::SSL_get1_peer_certificate(session_.get()));
    const Bio out(::BIO_new(::BIO_s_mem()));
    char* text = nullptr;
    if (own == nullptr || ::PEM_write_bio_X509(out.get(), own.get()) != 1) return "";
    const long size = BIO_get_mem_data(out.get(), &text);
    return std::string(text, static_cast<size_t>(size));
  }

  std::string Fingerprint() const override {
    const X509Ptr own(::SSL_get1_peer_certificate(session_.get()));
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (own == nullptr || ::X509_digest(own.get(), ::EVP_sha256(), digest, &size) != 1) return "";
    std::string text;
    for (unsigned i = 0; i < size; ++i) {
      absl::StrAppendFormat(&text, "%s%02X", i == 0 ? "" : ":", digest[i]);
    }
    return text;
  }

 private:
  static int Bounded(size_t size) { return static_cast<int>(std::min(size, size_t{1} << 20)); }

  short EventsAfter(int result) const {
    switch (::SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return POLLIN;
      case SSL_ERROR_WANT_WRITE:
        return POLLOUT;
      default:
        return 0;
    }
  }

  absl::Status NoTls() const {
    const unsigned long error = ::ERR_peek_last_error();
    const char* reason = ::ERR_reason_error_string(error);
    if (error == 0 || reason == nullptr) {
      return absl::UnavailableError("the connection was closed during the TLS handshake");
    }
    const bool clear = ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER;
    return absl::FailedPreconditionError(
        clear ? absl::StrCat("the server at ", url_, " does not use TLS; use http:// instead")
              : absl::StrCat("TLS handshake failed with ", url_, ": ", reason));
  }

  // Nothing has been said to the other yet.
  absl::Status Judge(const Trust& trust) const {
    const long verdict = ::SSL_get_verify_result(session_.get());
    if (!trust.verify || verdict == X509_V_OK) return absl::OkStatus();
    // Kept for this address, so whatever it calls itself.
    if (IsAmong(trust.certificates)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate of ", url_, " is not trusted (",
                     ::X509_verify_cert_error_string(verdict), "; its SHA-256 fingerprint is ",
                     Fingerprint(), "); if it is the master's certificate, run `det -m ", url_,
                     " master trust FINGERPRINT`, or set DET_MASTER_CERT_FILE to the file of its "
                     "certificate authority"));
  }

  bool IsAmong(const std::string& pem) const {
    const X509Ptr own(::SSL_get1_peer_certificate(session_.get()));
    const Bio text(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    bool found = false;
    while (const X509Ptr each{::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr)}) {
      found = found || ::X509_cmp(own.get(), each.get()) == 0;
    }
    ::ERR_clear_error();
    return found;
  }

  const Session session_;
  const std::string url_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TlsStream>> TlsStream::Open(int fd, const std::string& url,
                                                           const Trust& trust,
                                                           absl::Duration timeout) {
  const Context context(::SSL_CTX_new(::TLS_client_method()));
  if (context == nullptr) return absl::InternalError("cannot initialize OpenSSL");
  ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_mode(context.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (trust.certificates.empty()) {
    ::SSL_CTX_set_default_verify_paths(context.get());
  } else if (!AddTrusted(context.get(), trust.certificates)) {
    return absl::InvalidArgumentError(
        "DET_MASTER_CERT_FILE holds no certificate; name a file in PEM form");
  }
  // Judged by us, before anything is said, so that the refusal can name the certificate.
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  Session session(::SSL_new(context.get()));
  const std::string name = trust.name.empty() ? HostOf(url) : trust.name;
  if (IsAddress(name)) {
    ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session.get()), name.c_str());
  } else {
    ::SSL_set1_host(session.get(), name.c_str());
    ::SSL_set_tlsext_host_name(session.get(), name.c_str());
  }
  ::SSL_set_fd(session.get(), fd);
  auto stream = std::make_unique<OpenSslStream>(std::move(session), url);
  DET_RETURN_IF_ERROR(stream->Handshake(fd, trust, timeout));
  return stream;
}

}  // namespace det::cli
