#include "cli/local_tls.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::cli {
namespace {

constexpr absl::Duration kYear = absl::Hours(365 * 24);
constexpr absl::Duration kClockSkew = absl::Hours(1);

absl::Status Write(const std::string& path, const base::CertificateAndKey& one) {
  // The key is written first, so that a certificate always has its key.
  DET_RETURN_IF_ERROR(base::WriteFileAtomically(path + ".key", one.key, 0600));
  return base::WriteFileAtomically(path + ".crt", one.certificate, 0644);
}

std::vector<std::string> GetHostNames() {
  std::vector<std::string> names = {"localhost", "127.0.0.1", "::1"};
  char name[256] = "";
  if (::gethostname(name, sizeof(name) - 1) == 0 && name[0] != 0) names.emplace_back(name);
  return names;
}

}  // namespace

absl::StatusOr<LocalTls> LocalTls::Open(const std::string& folder) {
  DET_RETURN_IF_ERROR(base::MakeDirs(folder, 0711));
  const std::string path = folder + "/ca";
  const absl::StatusOr<std::string> certificate = base::ReadFile(path + ".crt");
  const absl::StatusOr<std::string> key = base::ReadFile(path + ".key");
  if (certificate.ok() && key.ok()) return LocalTls(folder, {*certificate, *key});
  for (const absl::Status& read : {certificate.status(), key.status()}) {
    if (!read.ok() && !absl::IsNotFound(read)) return read;
  }
  const absl::Time now = absl::Now();
  DET_ASSIGN_OR_RETURN(
      base::CertificateAndKey created,
      base::MakeCertificateAuthority("Resolute local cluster", now - kClockSkew, now + 10 * kYear));
  DET_RETURN_IF_ERROR(Write(path, created));
  return LocalTls(folder, std::move(created));
}

absl::Status LocalTls::AddMasterFlags(std::vector<std::string>* flags) const {
  const absl::Time now = absl::Now();
  DET_ASSIGN_OR_RETURN(const base::CertificateAndKey created,
                       base::SignCertificate(authority_, {.name = "resolute-master",
                                                          .hosts = GetHostNames(),
                                                          .use = base::CertificateUse::kServer,
                                                          .from = now - kClockSkew,
                                                          .until = now + 2 * kYear}));
  DET_RETURN_IF_ERROR(Write(folder_ + "/master", created));
  flags->insert(flags->end(), {"--tls-cert", folder_ + "/master.crt", "--tls-key",
                               folder_ + "/master.key", "--tls-client-ca", folder_ + "/ca.crt"});
  return absl::OkStatus();
}

absl::Status LocalTls::AddAgentFlags(const std::string& id, std::vector<std::string>* flags) const {
  const absl::Time now = absl::Now();
  DET_ASSIGN_OR_RETURN(const base::CertificateAndKey created,
                       base::SignCertificate(authority_, {.name = id,
                                                          .use = base::CertificateUse::kClient,
                                                          .from = now - kClockSkew,
                                                          .until = now + 2 * kYear}));
  const std::string path = absl::StrCat(folder_, "/", id);
  DET_RETURN_IF_ERROR(Write(path, created));
  flags->insert(flags->end(), {"--tls-ca", folder_ + "/ca.crt", "--tls-cert", path + ".crt",
                               "--tls-key", path + ".key"});
  return absl::OkStatus();
}

}  // namespace det::cli
