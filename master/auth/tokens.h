// Tokens: random ones, of which the store keeps only a hash, and tokens of allocations and of their
// owners, which are verified with an HMAC.
//
// Any thread. Never stores anything, never logs a token.
#ifndef MASTER_AUTH_TOKENS_H_
#define MASTER_AUTH_TOKENS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::auth {

// Lifetime of a login session and of its browser cookie.
inline constexpr absl::Duration kSessionLifetime = absl::Hours(24 * 7);

// Generates 256 random bits as text that is safe in a header, a file and a shell.
std::string NewToken();

// SHA-256 in hex, as the store keeps it.
std::string HashToken(std::string_view token);

// SHA-256 of any bytes, in hex.
std::string Sha256Hex(std::string_view bytes);

// HMAC-SHA256 of any bytes with a key of any length, in hex.
std::string HmacSha256Hex(std::string_view key, std::string_view bytes);

// Tokens "<allocation id>.<HMAC of it>" with a secret of the cluster. Each allocation has two: that
// of its task, which may report for it, and that with which the task's programs act as the owner of
// the experiment. Both are valid while the allocation is running, which the caller checks.
class AllocationTokens {
 public:
  explicit AllocationTokens(std::string_view secret);

  std::string Make(const model::AllocationId& allocation) const;
  // Returns nullopt for a token that was not made with this secret.
  std::optional<model::AllocationId> Verify(std::string_view token) const;

  std::string MakeForOwner(const model::AllocationId& allocation) const;
  std::optional<model::AllocationId> VerifyForOwner(std::string_view token) const;

 private:
  using Key = std::array<uint8_t, 32>;
  static std::string Make(const Key& key, const model::AllocationId& allocation);
  static std::optional<model::AllocationId> Verify(const Key& key, std::string_view token);

  Key key_;
  Key owner_key_;
};

}  // namespace det::auth

#endif  // MASTER_AUTH_TOKENS_H_
