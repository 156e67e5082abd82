#include "master/auth/passwords.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "base/check.h"

namespace det::auth {
namespace {

constexpr char kSalt[] = "GubPEmmotfiK9TMD6Zdw";
constexpr size_t kMinLength = 8;

void InitSodium() {
  static const int ready = sodium_init();
  DET_CHECK(ready >= 0) << "cannot initialize libsodium";
}

}  // namespace

std::string ClientHash(const std::string& password) {
  if (password.empty()) return "";
  InitSodium();
  const std::string salted = kSalt + password;
  std::array<unsigned char, crypto_hash_sha512_BYTES> hash;
  crypto_hash_sha512(hash.data(), reinterpret_cast<const unsigned char*>(salted.data()),
                     salted.size());
  std::string hex(hash.size() * 2 + 1, '\0');
  sodium_bin2hex(hex.data(), hex.size(), hash.data(), hash.size());
  hex.pop_back();  // the terminating zero
  return hex;
}

std::string ToClientHash(const std::string& password, bool hashed) {
  return hashed ? password : ClientHash(password);
}

absl::Status CheckNewPassword(const std::string& password, bool hashed, bool allow_blank) {
  if (password.empty()) {
    if (allow_blank) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "password: empty; this cluster does not allow blank passwords (see the master's flag "
        "--allow-blank-passwords)");
  }
  if (hashed) return absl::OkStatus();
  const auto has = [&](bool (*is)(unsigned char)) {
    return std::any_of(password.begin(), password.end(),
                       [&](char c) { return is(static_cast<unsigned char>(c)); });
  };
  if (password.size() >= kMinLength && has(absl::ascii_isupper) && has(absl::ascii_islower) &&
      has(absl::ascii_isdigit)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "password: expected at least 8 characters with upper case, lower case and a digit");
}

std::string NewPassword() {
  InitSodium();
  // Without characters that are easily confused.
  constexpr char kLetters[] = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
  std::string password(16, ' ');
  do {
    for (char& c : password) c = kLetters[randombytes_uniform(sizeof(kLetters) - 1)];
  } while (!CheckNewPassword(password, false, false).ok());
  return password;
}

absl::StatusOr<std::string> HashPassword(const std::string& client_hash) {
  InitSodium();
  std::array<char, crypto_pwhash_STRBYTES> text;
  if (crypto_pwhash_str(text.data(), client_hash.data(), client_hash.size(),
                        crypto_pwhash_OPSLIMIT_INTERACTIVE,
                        crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0) {
    return absl::ResourceExhaustedError("not enough memory to hash a password");
  }
  return std::string(text.data());
}

bool PasswordMatches(const std::string& client_hash, const std::string& hash, bool allow_blank) {
  InitSodium();
  if (hash.empty()) {
    (void)HashPassword(client_hash);
    return false;
  }
  const bool matches =
      crypto_pwhash_str_verify(hash.c_str(), client_hash.data(), client_hash.size()) == 0;
  return matches && (allow_blank || !client_hash.empty());
}

}  // namespace det::auth
