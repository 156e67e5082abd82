#include "master/store/postgres/testing/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace det::store {
namespace {

constexpr char kSocket[] = "/.s.PGSQL.5432";

sockaddr_un MakeAddress(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  DET_CHECK(path.size() < sizeof(address.sun_path)) << path;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

// Returns the available bytes; empty at the end of the stream.
std::string Read(const base::Fd& fd) {
  char buffer[65536];
  const ssize_t n = ::read(fd.get(), buffer, sizeof(buffer));
  return n > 0 ? std::string(buffer, static_cast<size_t>(n)) : std::string();
}

bool Write(const base::Fd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

// Whether the message is a query with COMMIT, or the Sync of a pipeline, which is sent separately.
bool EndsTransaction(std::string_view message) {
  return message.find("COMMIT") != std::string_view::npos ||
         message == std::string_view("S\0\0\0\4", 5);
}

}  // namespace

CuttingProxy::CuttingProxy(const std::string& database) : dir_(*base::TempDir::Create()) {
  const std::string host = database.substr(5, database.find(' ') - 5);
  server_ = absl::StrCat(host, kSocket);
  database_ = absl::StrCat("host=", dir_.path(), database.substr(database.find(' ')));
  listener_ = base::Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = MakeAddress(absl::StrCat(dir_.path(), kSocket));
  DET_CHECK(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
            0);
  DET_CHECK(::listen(listener_.get(), 16) == 0);
  accepter_ = std::thread([this] { Accept(); });
}

CuttingProxy::~CuttingProxy() {
  stopping_ = true;
  ::shutdown(listener_.get(), SHUT_RDWR);
  accepter_.join();
  for (std::thread& connection : connections_) connection.join();
}

void CuttingProxy::Accept() {
  while (!stopping_) {
    base::Fd client(::accept(listener_.get(), nullptr, nullptr));
    if (!client.valid()) continue;
    if (!armed_ && away_ > 0) {
      --away_;
      continue;
    }
    connections_.emplace_back([this, fd = std::move(client)]() mutable { Pass(std::move(fd)); });
  }
}

void CuttingProxy::Pass(base::Fd client) {
  const base::Fd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = MakeAddress(server_);
  if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return;
  }
  bool background = false;
  while (true) {
    pollfd both[] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
    if (::poll(both, 2, -1) < 0) return;
    if (both[0].revents != 0) {
      const std::string message = Read(client);
      if (message.empty()) return;
      background = background || message.find("SELECT sum_up($1)") != std::string::npos;
      const bool cut = !background && EndsTransaction(message) && armed_.exchange(false);
      const bool passes = !cut || moment_ == Moment::kAfter;
      if (passes && !Write(server, message)) return;
      if (cut) {
        // The server has committed when it responds; the response is dropped.
        if (passes) Read(server);
        const std::function<void()> then = [this] {
          std::lock_guard lock(mutex_);
          return then_;
        }();
        then();
        return;
      }
    }
    if (both[1].revents != 0) {
      const std::string answer = Read(server);
      if (answer.empty() || !Write(client, answer)) return;
    }
  }
}

}  // namespace det::store
