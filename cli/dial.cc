#include "cli/dial.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/strip.h"

namespace det::cli {

absl::StatusOr<Addresses> Resolve(absl::string_view url) {
  if (!absl::ConsumePrefix(&url, "https://")) absl::ConsumePrefix(&url, "http://");
  const size_t colon = url.rfind(':');
  absl::string_view host = url.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(std::string(host).c_str(),
                                   std::string(url.substr(colon + 1)).c_str(), &hints, &found);
  if (failed != 0) return absl::UnavailableError(::gai_strerror(failed));
  return Addresses(found,
                   [](const addrinfo* list) { ::freeaddrinfo(const_cast<addrinfo*>(list)); });
}

absl::StatusOr<base::Fd> Dial(const addrinfo& address) {
  base::Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return absl::UnavailableError(strerror(errno));
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0 || errno == EINPROGRESS) {
    return fd;
  }
  return absl::UnavailableError(strerror(errno));
}

absl::Status DialResult(const base::Fd& fd) {
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? absl::OkStatus() : absl::UnavailableError(strerror(error));
}

}  // namespace det::cli
