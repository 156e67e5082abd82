// Connections to shells with OpenSSH: the command, the entry of a config file, and the files that
// both name. Used by the commands of shells on the main thread.
#ifndef CLI_SSH_H_
#define CLI_SSH_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::cli {

struct SshHost {
  std::string id;             // of the shell; also its host name
  std::string user;           // that the shell runs as
  std::string folder;         // of the key and known_hosts, see WriteSshFiles
  std::string proxy_command;  // for the user's shell; %h is the ID
};

// Returns the folder of a shell in the user's cache: determined/shell/<id> in $XDG_CACHE_HOME or
// ~/.cache, as other clients do.
std::string GetSshFolder(const std::string& id);

// Writes `key` (0600), with which the user signs in, and `known_hosts`, with which ssh verifies
// that it speaks with this shell, whose host key is the public key. Only the user can enter the
// folder.
absl::Status WriteSshFiles(const std::string& folder, const std::string& id,
                           const std::string& private_key, const std::string& public_key);

// Returns the command that runs `words` with the shell of a user's machine.
std::string QuoteShellWords(const std::vector<std::string>& words);

// Returns the proxy command that runs `words`.
std::string MakeProxyCommand(const std::vector<std::string>& words);

// Returns the words of an ssh command, "ssh" first, that signs in to the host.
std::vector<std::string> MakeSshCommand(const SshHost& host);

// Returns an entry for ~/.ssh/config; `comment` is its first line.
std::string MakeSshConfig(const SshHost& host, const std::string& comment);

// Runs a command with the standard streams of det and waits for its end; an interrupt ends it.
// Returns its exit code, or NOT_FOUND if there is no such program.
absl::StatusOr<int> RunForeground(const std::vector<std::string>& words);

}  // namespace det::cli

#endif  // CLI_SSH_H_
