#include "agent/link/master_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fd.h"
#include "base/status_macros.h"

namespace det::agent {

std::string MasterAddress::Target() const {
  return absl::StrContains(host, ":") ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

std::string MasterAddress::Url() const {
  return absl::StrCat(tls ? "https://" : "http://", Target());
}

absl::StatusOr<MasterAddress> ParseMasterAddress(absl::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(absl::StrCat(
      "--master ", text, " is not an address; use http://host:port or https://host:port"));
  MasterAddress address;
  address.tls = absl::ConsumePrefix(&text, "https://");
  if (!address.tls) absl::ConsumePrefix(&text, "http://");
  absl::ConsumeSuffix(&text, "/");
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos ||
      !absl::SimpleAtoi(text.substr(colon + 1), &address.port) || address.port < 1 ||
      address.port > 65535) {
    return wrong;
  }
  absl::string_view host = text.substr(0, colon);
  const bool brackets = absl::ConsumePrefix(&host, "[");
  if (brackets != absl::ConsumeSuffix(&host, "]") || host.empty() ||
      (!brackets && absl::StrContains(host, ":")) || absl::StrContains(host, "/")) {
    return wrong;
  }
  address.host = std::string(host);
  return address;
}

absl::StatusOr<std::vector<MasterAddress>> ParseMasterAddresses(absl::string_view text) {
  std::vector<MasterAddress> addresses;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    DET_ASSIGN_OR_RETURN(MasterAddress address,
                         ParseMasterAddress(absl::StripAsciiWhitespace(part)));
    addresses.push_back(std::move(address));
  }
  return addresses;
}

absl::Status CheckTls(const std::vector<MasterAddress>& masters, const TlsOptions& tls) {
  const auto speaks_tls = [](const MasterAddress& master) { return master.tls; };
  const bool all = std::all_of(masters.begin(), masters.end(), speaks_tls);
  if (!all && std::any_of(masters.begin(), masters.end(), speaks_tls)) {
    return absl::InvalidArgumentError(
        "--master mixes http:// and https://; use the same scheme for all masters");
  }
  const bool given = !tls.authority.empty() || !tls.certificate.empty() || !tls.master_name.empty();
  if (all || !given) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--master ", masters[0].Url(),
                   " does not use TLS; use https://, or remove the --tls-... flags"));
}

namespace {

absl::StatusOr<std::string> FindLocalAddress(const MasterAddress& master) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const std::string port = absl::StrCat(master.port);
  const int error = ::getaddrinfo(master.host.c_str(), port.c_str(), &hints, &list);
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat("cannot resolve the master's host ", master.host,
                                               ": ", ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, ::freeaddrinfo);
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    // Connecting a datagram socket consults the routing table and sends nothing.
    const base::Fd fd(::socket(at->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage local{};
    socklen_t size = sizeof(local);
    auto* name = reinterpret_cast<sockaddr*>(&local);
    std::array<char, NI_MAXHOST> text{};
    if (fd.valid() && ::connect(fd.get(), at->ai_addr, at->ai_addrlen) == 0 &&
        ::getsockname(fd.get(), name, &size) == 0 &&
        ::getnameinfo(name, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0) {
      return std::string(text.data());
    }
  }
  return absl::UnavailableError(absl::StrCat("no route to the master's host ", master.host));
}

}  // namespace

absl::StatusOr<std::string> FindLocalAddress(const std::vector<MasterAddress>& masters) {
  absl::StatusOr<std::string> address = absl::InvalidArgumentError("--master is empty");
  for (const MasterAddress& master : masters) {
    address = FindLocalAddress(master);
    if (address.ok()) break;
  }
  return address;
}

}  // namespace det::agent
