#include "master/auth/tokens.h"

#include <sodium.h>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace det::auth {
namespace {

void InitSodium() {
  static const int ready = sodium_init();
  DET_CHECK(ready >= 0) << "cannot initialize libsodium";
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string Hex(const unsigned char* bytes, size_t size) {
  std::string hex(size * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), bytes, size);
  hex.pop_back();
  return hex;
}

}  // namespace

std::string NewToken() {
  InitSodium();
  std::array<unsigned char, 32> bytes;
  randombytes_buf(bytes.data(), bytes.size());
  constexpr int kForm = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kForm), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), kForm);
  text.pop_back();  // its closing zero
  return text;
}

std::string Sha256Hex(std::string_view bytes) {
  InitSodium();
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash;
  crypto_hash_sha256(hash.data(), Bytes(bytes), bytes.size());
  return Hex(hash.data(), hash.size());
}

std::string HmacSha256Hex(std::string_view key, std::string_view bytes) {
  InitSodium();
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, Bytes(key), key.size());
  crypto_auth_hmacsha256_update(&state, Bytes(bytes), bytes.size());
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> mac;
  crypto_auth_hmacsha256_final(&state, mac.data());
  return Hex(mac.data(), mac.size());
}

std::string HashToken(std::string_view token) { return Sha256Hex(token); }

AllocationTokens::AllocationTokens(std::string_view secret) {
  InitSodium();
  static_assert(crypto_hash_sha256_BYTES == crypto_auth_hmacsha256_KEYBYTES);
  crypto_hash_sha256(key_.data(), Bytes(secret), secret.size());
  // An HMAC of a word that is not the ID of an allocation.
  constexpr std::string_view kOwner = "owner";
  crypto_auth_hmacsha256(owner_key_.data(), Bytes(kOwner), kOwner.size(), key_.data());
}

std::string AllocationTokens::Make(const model::AllocationId& allocation) const {
  return Make(key_, allocation);
}

std::optional<model::AllocationId> AllocationTokens::Verify(std::string_view token) const {
  return Verify(key_, token);
}

std::string AllocationTokens::MakeForOwner(const model::AllocationId& allocation) const {
  return Make(owner_key_, allocation);
}

std::optional<model::AllocationId> AllocationTokens::VerifyForOwner(std::string_view token) const {
  return Verify(owner_key_, token);
}

std::string AllocationTokens::Make(const Key& key, const model::AllocationId& allocation) {
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> mac;
  const std::string& id = allocation.value();
  crypto_auth_hmacsha256(mac.data(), Bytes(id), id.size(), key.data());
  return absl::StrCat(id, ".", Hex(mac.data(), mac.size()));
}

std::optional<model::AllocationId> AllocationTokens::Verify(const Key& key,
                                                            std::string_view token) {
  const size_t dot = token.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const model::AllocationId id{std::string(token.substr(0, dot))};
  const std::string expected = Make(key, id);
  if (expected.size() != token.size() ||
      sodium_memcmp(expected.data(), token.data(), token.size()) != 0) {
    return std::nullopt;
  }
  return id;
}

}  // namespace det::auth
