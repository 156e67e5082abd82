#include "cli/ssh.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "cli/interrupt.h"
#include "cli/terminal.h"
#include "cli/token_cache.h"

namespace det::cli {
namespace {

std::string QuoteShellWord(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("@%+=:,./_-", c);
  });
  return plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// Quotes a path for ssh, which separates paths at spaces and replaces tokens such as %h.
std::string QuotePath(const std::string& path) {
  const std::string literal = absl::StrReplaceAll(path, {{"%", "%%"}});
  return absl::StrContains(literal, ' ') ? absl::StrCat("\"", literal, "\"") : literal;
}

struct SshOption {
  const char* name;
  std::string value;
};

std::vector<SshOption> MakeOptions(const SshHost& host) {
  return {
      {"ProxyCommand", host.proxy_command},
      {"UserKnownHostsFile", QuotePath(absl::StrCat(host.folder, "/known_hosts"))},
      {"StrictHostKeyChecking", "yes"},
      {"IdentityFile", QuotePath(absl::StrCat(host.folder, "/key"))},
      {"IdentitiesOnly", "yes"},
      // A broken tunnel is noticed, and one without traffic stays open.
      {"ServerAliveInterval", "30"},
  };
}

}  // namespace

std::string GetSshFolder(const std::string& id) {
  const std::string cache = GetEnv("XDG_CACHE_HOME");
  return absl::StrCat(cache.empty() ? absl::StrCat(GetEnv("HOME"), "/.cache") : cache,
                      "/determined/shell/", id);
}

absl::Status WriteSshFiles(const std::string& folder, const std::string& id,
                           const std::string& private_key, const std::string& public_key) {
  // "ssh-ed25519 AAAA... comment"
  const std::vector<std::string> words =
      absl::StrSplit(public_key, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (private_key.empty() || words.size() < 2) {
    return absl::FailedPreconditionError(absl::StrCat("the shell ", id, " has no keys"));
  }
  DET_RETURN_IF_ERROR(base::MakeDirs(folder, 0700));
  DET_RETURN_IF_ERROR(
      base::WriteFileAtomically(absl::StrCat(folder, "/key"),
                                absl::StrCat(absl::StripAsciiWhitespace(private_key), "\n"), 0600));
  return base::WriteFileAtomically(absl::StrCat(folder, "/known_hosts"),
                                   absl::StrCat(id, " ", words[0], " ", words[1], "\n"), 0600);
}

std::string QuoteShellWords(const std::vector<std::string>& words) {
  return absl::StrJoin(words, " ", [](std::string* out, const std::string& word) {
    absl::StrAppend(out, QuoteShellWord(word));
  });
}

std::string MakeProxyCommand(const std::vector<std::string>& words) {
  // ssh replaces tokens such as %h.
  return absl::StrCat(absl::StrReplaceAll(QuoteShellWords(words), {{"%", "%%"}}), " %h");
}

std::vector<std::string> MakeSshCommand(const SshHost& host) {
  std::vector<std::string> words = {"ssh"};
  for (const SshOption& option : MakeOptions(host)) {
    words.insert(words.end(), {"-o", absl::StrCat(option.name, "=", option.value)});
  }
  words.push_back(absl::StrCat(host.user, "@", host.id));
  return words;
}

std::string MakeSshConfig(const SshHost& host, const std::string& comment) {
  // A short alias to type; programs can use the ID.
  std::string text =
      absl::StrCat("# ", RemoveControlCharacters(comment), "\nHost det-", host.id.substr(0, 8), " ",
                   host.id, "\n  HostName ", host.id, "\n  User ", host.user, "\n");
  for (const SshOption& option : MakeOptions(host)) {
    absl::StrAppend(&text, "  ", option.name, " ", option.value, "\n");
  }
  return text;
}

absl::StatusOr<int> RunForeground(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);  // det ignores it.
  ::sigaddset(&defaults, SIGHUP);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error == ENOENT) return absl::NotFoundError(absl::StrCat("cannot find ", words[0]));
  if (error != 0) {
    return absl::InternalError(absl::StrCat("cannot start ", words[0], ": ", strerror(error)));
  }
  // The program ends when its terminal is closed; det then still removes temporary files.
  const auto hang_up = std::signal(SIGHUP, SIG_IGN);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError(absl::StrCat("waitpid: ", strerror(errno)));
    if (Interrupted()) ::kill(pid, SIGTERM);
  }
  std::signal(SIGHUP, hang_up);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace det::cli
