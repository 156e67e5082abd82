// Makes the key pairs of shells. Any thread.
#ifndef MASTER_API_TASKS_SSH_KEY_H_
#define MASTER_API_TASKS_SSH_KEY_H_

#include <string>

#include "absl/status/statusor.h"

namespace det::api {

struct SshKey {
  std::string private_key;  // the text of a key file of OpenSSH, without a passphrase
  std::string public_key;   // a line of authorized_keys
};

// Returns a new Ed25519 key.
absl::StatusOr<SshKey> MakeSshKey();

}  // namespace det::api

#endif  // MASTER_API_TASKS_SSH_KEY_H_
