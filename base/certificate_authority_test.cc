#include "base/certificate_authority.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace det::base {
namespace {

using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;

const absl::Time kFrom = absl::FromUnixSeconds(1'700'000'000);
const absl::Time kUntil = kFrom + absl::Hours(24);

X509Ptr Read(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new_mem_buf(pem.data(), -1), BIO_free);
  return X509Ptr(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free);
}

// Returns X509_V_OK, or OpenSSL's reason why the certificate is not valid.
int Verify(const std::string& authority, const std::string& certificate, int purpose,
           absl::Time now) {
  const X509Ptr issuer = Read(authority);
  const X509Ptr leaf = Read(certificate);
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      X509_STORE_free);
  X509_STORE_add_cert(store.get(), issuer.get());
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                              X509_STORE_CTX_free);
  X509_STORE_CTX_init(check.get(), store.get(), leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(check.get(), purpose);
  X509_VERIFY_PARAM_set_time(X509_STORE_CTX_get0_param(check.get()), absl::ToTimeT(now));
  X509_verify_cert(check.get());
  return X509_STORE_CTX_get_error(check.get());
}

TEST(CertificateAuthorityTest, SignsSeparatelyForServersAndClients) {
  const auto authority = MakeCertificateAuthority("test", kFrom, kUntil);
  ASSERT_TRUE(authority.ok()) << authority.status();
  const auto server = SignCertificate(*authority, {.name = "master",
                                                   .hosts = {"localhost", "127.0.0.1", "::1"},
                                                   .from = kFrom,
                                                   .until = kUntil});
  const auto client = SignCertificate(
      *authority,
      {.name = "agent", .use = CertificateUse::kClient, .from = kFrom, .until = kUntil});
  ASSERT_TRUE(server.ok() && client.ok()) << server.status() << client.status();
  const absl::Time now = kFrom + absl::Hours(1);
  const auto verify = [&](const CertificateAndKey& one, int purpose) {
    return Verify(authority->certificate, one.certificate, purpose, now);
  };
  EXPECT_EQ(verify(*server, X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(verify(*server, X509_PURPOSE_SSL_CLIENT), X509_V_ERR_INVALID_PURPOSE);
  EXPECT_EQ(verify(*client, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(verify(*client, X509_PURPOSE_SSL_SERVER), X509_V_ERR_INVALID_PURPOSE);
  const X509Ptr leaf = Read(server->certificate);
  EXPECT_EQ(X509_check_host(leaf.get(), "localhost", 0, 0, nullptr), 1);
  EXPECT_EQ(X509_check_host(leaf.get(), "elsewhere", 0, 0, nullptr), 0);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "127.0.0.1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "::1", 0), 1);
  EXPECT_EQ(X509_check_ip_asc(leaf.get(), "10.0.0.1", 0), 0);
}

TEST(CertificateAuthorityTest, SignedCertificateExpiresAtItsEndTime) {
  const auto authority = MakeCertificateAuthority("test", kFrom, kUntil);
  const auto short_one =
      SignCertificate(*authority, {.name = "m", .from = kFrom, .until = kFrom + absl::Hours(1)});
  ASSERT_TRUE(short_one.ok()) << short_one.status();
  EXPECT_EQ(Verify(authority->certificate, short_one->certificate, X509_PURPOSE_SSL_SERVER,
                   kFrom + absl::Hours(2)),
            X509_V_ERR_CERT_HAS_EXPIRED);
  const auto stranger = MakeCertificateAuthority("test", kFrom, kUntil);
  EXPECT_NE(Verify(stranger->certificate, short_one->certificate, X509_PURPOSE_SSL_SERVER, kFrom),
            X509_V_OK);
}

TEST(CertificateAuthorityTest, RejectsAuthorityWithoutMatchingKey) {
  const auto one = MakeCertificateAuthority("one", kFrom, kUntil);
  const auto other = MakeCertificateAuthority("other", kFrom, kUntil);
  const CertificateRequest request = {.name = "m", .from = kFrom, .until = kUntil};
  EXPECT_TRUE(
      absl::IsInvalidArgument(SignCertificate({one->certificate, other->key}, request).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(SignCertificate({"text", one->key}, request).status()));
}

}  // namespace
}  // namespace det::base
