#include <pwd.h>
#include <shadow.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "agent/runner/services.h"
#include "agent/runner/startup_hooks.h"
#include "base/file.h"
#include "base/status_macros.h"
#include <nlohmann/json.hpp>

namespace det::agent {
namespace {

constexpr char kSshd[] = "/usr/sbin/sshd";
constexpr char kSftpServer[] = "/usr/lib/openssh/sftp-server";

bool IsName(absl::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
         });
}

// Returns whether sshd, the client or the session's shell determines a variable.
bool IsSessionVariable(absl::string_view name) {
  static constexpr absl::string_view kNames[] = {
      "_", "DISPLAY", "HOME", "LOGNAME", "MAIL", "PWD", "OLDPWD", "SHELL", "SHLVL", "TERM", "USER"};
  return absl::StartsWith(name, "SSH_") ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Quotes a path for sshd_config, where "%" begins a token.
std::string QuoteForConfig(const std::string& path) {
  return absl::StrCat("\"", absl::StrReplaceAll(path, {{"%", "%%"}}), "\"");
}

std::string MakeConfig(const std::string& folder, int port) {
  return absl::StrCat("ListenAddress 127.0.0.1\nPort ", port, "\nHostKey ",
                      QuoteForConfig(folder + "/key"), "\nAuthorizedKeysFile ",
                      QuoteForConfig(folder + "/authorized_keys"), R"(
# The agent's directories may be below one that others can write, such as /tmp.
StrictModes no
PidFile none
UsePAM no
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowTcpForwarding yes
PermitOpen any
X11Forwarding yes
AcceptEnv *
UseDNS no
PrintMotd no
PrintLastLog no
MaxStartups 100
MaxSessions 100
Subsystem sftp )",
                      kSftpServer, "\nForceCommand ", QuoteForShell(folder + "/session"), "\n");
}

// A session gets the variables of the task and starts in its working directory. It is not a login
// shell, because /etc/profile would replace PATH. Without SHLVL, bash reads ~/.bashrc also for a
// command, so that the user's files have the last word.
std::string MakeSessionScript(const std::string& folder, const std::string& work_dir) {
  return absl::StrCat("#!/bin/sh\n. ", QuoteForShell(folder + "/environment"), "\ncd ",
                      QuoteForShell(work_dir), R"( 2>/dev/null || cd
unset SHLVL
if [ -n "${SSH_ORIGINAL_COMMAND+set}" ]; then exec "$SHELL" -c "$SSH_ORIGINAL_COMMAND"; fi
exec "$SHELL"
)");
}

// sshd runs as this user; it can open sessions of another user only as root.
absl::StatusOr<std::string> GetUser() {
  const passwd* user = ::getpwuid(::geteuid());
  if (user == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("the user ", ::geteuid(),
                     " of this task has no entry in /etc/passwd, which "
                     "sshd needs; run the agent as a user that has one"));
  }
  const spwd* shadow = ::getspnam(user->pw_name);
  if (shadow != nullptr && absl::StartsWith(shadow->sp_pwdp, "!")) {
    return absl::FailedPreconditionError(
        absl::StrCat("the account ", user->pw_name,
                     " is locked, so sshd refuses it; run `usermod "
                     "-p '*' ",
                     user->pw_name, "` on the agent's machine"));
  }
  return std::string(user->pw_name);
}

}  // namespace

std::string MakeEnvironmentScript(const std::vector<std::string>& env) {
  std::string script;
  for (const std::string& entry : env) {
    const size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (equals == std::string::npos || !IsName(name) || IsSessionVariable(name)) continue;
    // The client's language applies if it sends one.
    if (name == "LANG" || absl::StartsWith(name, "LC_")) {
      absl::StrAppend(&script, "[ -n \"${", name, "+set}\" ] || ");
    }
    absl::StrAppend(&script, "export ", name, "=", QuoteForShell(entry.substr(equals + 1)), "\n");
  }
  return script;
}

absl::StatusOr<Service> PrepareShell(const ServiceInput& input) {
  using Json = nlohmann::json;
  const Json description = Json::parse(input.description, nullptr, /*allow_exceptions=*/false);
  if (::access(kSshd, X_OK) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("this machine has no ", kSshd,
                     "; install the Debian package openssh-server on the agent's machine"));
  }
  DET_ASSIGN_OR_RETURN(const std::string user, GetUser());
  // sshd as root needs an empty directory for the part of it that has no permissions.
  if (::geteuid() == 0) DET_RETURN_IF_ERROR(base::MakeDirs("/run/sshd", 0755));
  const std::string folder = input.run_dir + "/ssh";
  DET_RETURN_IF_ERROR(base::MakeDirs(folder, 0700));
  const auto write = [&](const char* name, const std::string& content, unsigned mode) {
    return base::WriteFile(absl::StrCat(folder, "/", name), content, mode);
  };
  DET_RETURN_IF_ERROR(write("key", description.value("private_key", ""), 0600));
  DET_RETURN_IF_ERROR(write("authorized_keys", description.value("public_key", "") + "\n", 0600));
  DET_RETURN_IF_ERROR(write("environment", MakeEnvironmentScript(input.env), 0600));
  DET_RETURN_IF_ERROR(write("session", MakeSessionScript(folder, input.work_dir), 0700));
  DET_RETURN_IF_ERROR(write("sshd_config", MakeConfig(folder, input.port), 0600));
  Service service;
  service.argv = {kSshd, "-D", "-e", "-f", folder + "/sshd_config"};
  return service;
}

}  // namespace det::agent
