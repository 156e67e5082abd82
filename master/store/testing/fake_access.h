// Sessions, access tokens and roles in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_ACCESS_H_
#define MASTER_STORE_TESTING_FAKE_ACCESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/access.h"

namespace det::store {

struct AccessRows {
  std::map<std::string, SessionRecord> sessions;  // by the hash
  int32_t last_session = 0;
  std::set<RoleAssignment> roles;
};

class FakeAccess final : public Access {
 public:
  // `mutex` guards `rows`. `check_epoch` is called before each write, without the mutex.
  FakeAccess(std::mutex* mutex, AccessRows* rows, std::function<absl::Status()> check_epoch)
      : mutex_(*mutex), rows_(*rows), check_epoch_(std::move(check_epoch)) {}

  absl::StatusOr<int32_t> PutSession(const SessionRecord& session) override;
  absl::StatusOr<SessionRecord> GetSession(const std::string& token_hash, absl::Time now) override;
  absl::Status DeleteSession(const std::string& token_hash) override;
  absl::Status DeleteLogins(model::UserId user, const std::string& keep) override;
  absl::Status DeleteUserSessions(model::UserId user) override;
  absl::Status RecordUse(const std::string& token_hash, absl::Time at) override;

  absl::StatusOr<TokenPage> ListTokens(const TokenQuery& query) override;
  absl::StatusOr<SessionRecord> ChangeToken(int32_t id,
                                            const std::optional<std::string>& description,
                                            bool revoke) override;

  absl::StatusOr<std::vector<RoleAssignment>> GetUserRoles(model::UserId user) override;
  absl::StatusOr<std::vector<RoleAssignment>> GetWorkspaceRoles(int32_t workspace) override;
  absl::Status AddRole(const RoleAssignment& assignment) override;
  absl::Status RemoveRole(const RoleAssignment& assignment) override;

 private:
  std::mutex& mutex_;
  AccessRows& rows_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_ACCESS_H_
