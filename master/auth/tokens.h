// Tokens: random ones, of which the store keeps only a hash, and those of allocations, which are
// checked by computation alone.
//
// Any thread. Never stores anything, never logs a token.
#ifndef MASTER_AUTH_TOKENS_H_
#define MASTER_AUTH_TOKENS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "master/core/model/ids.h"

namespace det::auth {

// 256 random bits as text that is safe in a header, a file and a shell.
std::string NewToken();

// SHA-256, hex: what the store keeps.
std::string HashToken(std::string_view token);

// SHA-256 of any bytes, hex.
std::string Sha256Hex(std::string_view bytes);

// HMAC-SHA256 of any bytes under a key of any length, hex.
std::string HmacSha256Hex(std::string_view key, std::string_view bytes);

// "<allocation id>.<HMAC of it>", by a secret of the cluster. Good for as long as its allocation
// lives, which the cluster knows.
class AllocationTokens {
 public:
  explicit AllocationTokens(std::string_view secret);

  std::string Make(const model::AllocationId& allocation) const;
  // Nothing for a token that this secret did not make.
  std::optional<model::AllocationId> Verify(std::string_view token) const;

 private:
  std::array<uint8_t, 32> key_;
};

}  // namespace det::auth

#endif  // MASTER_AUTH_TOKENS_H_
