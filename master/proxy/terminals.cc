#include "master/proxy/terminals.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include <libssh/libssh.h>

namespace det::proxy {
namespace {

constexpr long kLoginSeconds = 10;
constexpr size_t kHeaderBytes = 3;
constexpr size_t kPartBytes = 16 << 10;
constexpr uint8_t kTyped = 0;
constexpr uint8_t kSize = 1;

struct FreeSession {
  void operator()(ssh_session session) const { ssh_free(session); }
};
struct FreeChannel {
  void operator()(ssh_channel channel) const { ssh_channel_free(channel); }
};
struct FreeKey {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Session = std::unique_ptr<ssh_session_struct, FreeSession>;
using Channel = std::unique_ptr<ssh_channel_struct, FreeChannel>;
using Key = std::unique_ptr<ssh_key_struct, FreeKey>;

absl::Status SshError(std::string_view what, ssh_session session) {
  return absl::UnavailableError(
      absl::StrCat("the shell ", std::string(what), ": ", ssh_get_error(session)));
}

Key ParsePublicKey(const std::string& line) {
  const std::vector<std::string> parts = absl::StrSplit(line, absl::ByAnyChar(" \n"));
  ssh_key key = nullptr;
  if (parts.size() >= 2) {
    ssh_pki_import_pubkey_base64(parts[1].c_str(), ssh_key_type_from_name(parts[0].c_str()), &key);
  }
  return Key(key);
}

// sshd must prove that it has the shell's key: another program may listen on its port.
absl::Status CheckHost(ssh_session session, const std::string& public_key) {
  ssh_key served = nullptr;
  if (ssh_get_server_publickey(session, &served) != SSH_OK) {
    return SshError("shows no host key", session);
  }
  const Key host(served);
  const Key expected = ParsePublicKey(public_key);
  if (expected == nullptr || ssh_key_cmp(host.get(), expected.get(), SSH_KEY_CMP_PUBLIC) != 0) {
    return absl::UnavailableError("another program answers on the port of the shell");
  }
  return absl::OkStatus();
}

absl::Status LogIn(ssh_session session, const ShellLogin& login) {
  if (ssh_connect(session) != SSH_OK) return SshError("does not answer", session);
  DET_RETURN_IF_ERROR(CheckHost(session, login.public_key));
  ssh_key parsed = nullptr;
  ssh_pki_import_privkey_base64(login.private_key.c_str(), nullptr, nullptr, nullptr, &parsed);
  const Key key(parsed);
  if (key == nullptr) return absl::UnavailableError("the key of the shell cannot be read");
  if (ssh_userauth_publickey(session, nullptr, key.get()) != SSH_AUTH_SUCCESS) {
    return SshError("refuses the login", session);
  }
  return absl::OkStatus();
}

absl::StatusOr<Channel> OpenChannel(ssh_session session) {
  Channel channel(ssh_channel_new(session));
  if (channel == nullptr || ssh_channel_open_session(channel.get()) != SSH_OK ||
      ssh_channel_request_pty_size(channel.get(), "xterm-256color", 80, 24) != SSH_OK ||
      ssh_channel_request_shell(channel.get()) != SSH_OK) {
    return SshError("opens no terminal", session);
  }
  return channel;
}

bool WriteAll(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

uint16_t ReadNumber(std::string_view bytes) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[0]) << 8 |
                               static_cast<uint8_t>(bytes[1]));
}

// Handles the complete messages at the beginning of `input` and removes them. Returns false if the
// terminal has ended.
bool HandleMessages(ssh_channel channel, std::string& input) {
  size_t begin = 0;
  bool open = true;
  while (open && input.size() - begin >= kHeaderBytes) {
    const std::string_view rest = std::string_view(input).substr(begin);
    const size_t length = ReadNumber(rest.substr(1));
    if (rest.size() < kHeaderBytes + length) break;
    const std::string_view body = rest.substr(kHeaderBytes, length);
    const auto kind = static_cast<uint8_t>(rest[0]);
    if (kind == kTyped) {
      open = ssh_channel_write(channel, body.data(), static_cast<uint32_t>(body.size())) >= 0;
    } else if (kind == kSize && body.size() == 4) {
      ssh_channel_change_pty_size(channel, ReadNumber(body), ReadNumber(body.substr(2)));
    }
    begin += kHeaderBytes + length;
  }
  input.erase(0, begin);
  return open;
}

// Copies what the terminal shows to the client; false if either has ended.
bool CopyOutput(ssh_channel channel, int client) {
  std::array<char, kPartBytes> part;
  while (true) {
    const int got = ssh_channel_read_nonblocking(channel, part.data(), part.size(), 0);
    if (got < 0) return false;
    if (got == 0) return ssh_channel_is_eof(channel) == 0;
    if (!WriteAll(client, part.data(), static_cast<size_t>(got))) return false;
  }
}

void Relay(ssh_session session, ssh_channel channel, int client) {
  std::string input;
  std::array<char, kPartBytes> part;
  while (CopyOutput(channel, client)) {
    std::array<pollfd, 2> ready = {{{client, POLLIN, 0}, {ssh_get_fd(session), POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), -1) < 0) return;
    if (ready[0].revents == 0) continue;
    const ssize_t got = ::recv(client, part.data(), part.size(), 0);
    if (got <= 0) return;
    input.append(part.data(), static_cast<size_t>(got));
    if (!HandleMessages(channel, input)) return;
  }
}

}  // namespace

struct Terminals::State {
  std::mutex mutex;
  std::condition_variable ended;
  int count = 0;
  bool stopping = false;
  std::set<int> sockets;  // of all terminals; shut down to end them

  // Returns false if the terminals are being ended.
  bool Add(int socket) {
    std::lock_guard lock(mutex);
    if (!stopping) sockets.insert(socket);
    return !stopping;
  }
  void Remove(int socket) {
    std::lock_guard lock(mutex);
    sockets.erase(socket);
  }
  // A terminal has ended.
  void End() {
    std::lock_guard lock(mutex);
    --count;
    ended.notify_all();
  }
  void Run(base::Fd sshd, const ShellLogin& login, TaskDialer::Reply reply);
};

void Terminals::State::Run(base::Fd sshd, const ShellLogin& login, TaskDialer::Reply reply) {
  const Session session(ssh_new());
  const int socket = sshd.get();
  const bool no = false;
  ssh_options_set(session.get(), SSH_OPTIONS_HOST, "shell");
  ssh_options_set(session.get(), SSH_OPTIONS_USER, login.user.c_str());
  ssh_options_set(session.get(), SSH_OPTIONS_TIMEOUT, &kLoginSeconds);
  ssh_options_set(session.get(), SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session.get(), SSH_OPTIONS_FD, &socket);
  if (!Add(socket)) return reply(absl::UnavailableError("the master is stopping"));
  sshd.Release();  // The session closes it.
  absl::Status status = LogIn(session.get(), login);
  Channel channel;
  if (status.ok()) {
    absl::StatusOr<Channel> opened = OpenChannel(session.get());
    status = opened.status();
    if (opened.ok()) channel = *std::move(opened);
  }
  std::array<int, 2> ends = {-1, -1};
  if (status.ok() && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    status = absl::ResourceExhaustedError("the master has too many open files");
  }
  base::Fd client(ends[0]);
  if (status.ok() && Add(client.get())) {
    base::Fd other(ends[1]);
    ::fcntl(other.get(), F_SETFL, O_NONBLOCK);
    reply(std::move(other));
    Relay(session.get(), channel.get(), client.get());
    Remove(client.get());
  } else {
    base::Fd unused(ends[1]);
    reply(status.ok() ? absl::UnavailableError("the master is stopping") : status);
  }
  Remove(socket);
  channel.reset();
  ssh_disconnect(session.get());
}

Terminals::Terminals() : state_(std::make_shared<State>()) {}

Terminals::~Terminals() {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  for (const int socket : state_->sockets) ::shutdown(socket, SHUT_RDWR);
  state_->ended.wait(lock, [this] { return state_->count == 0; });
}

void Terminals::Open(base::Fd sshd, ShellLogin login, TaskDialer::Reply reply) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->count >= kMaxTerminals) {
      return reply(absl::ResourceExhaustedError(
          absl::StrCat("the cluster has ", kMaxTerminals,
                       " open terminals; close some, or use `det shell open`")));
    }
    ++state_->count;
  }
  const auto shared = std::make_shared<TaskDialer::Reply>(std::move(reply));
  try {
    std::thread([state = state_, sshd = std::move(sshd), login = std::move(login),
                 shared]() mutable {
      state->Run(std::move(sshd), login, std::move(*shared));
      state->End();
    }).detach();
  } catch (const std::system_error&) {
    state_->End();
    (*shared)(absl::ResourceExhaustedError("the master can start no more threads"));
  }
}

}  // namespace det::proxy
