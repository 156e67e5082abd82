#include "master/auth/passwords.h"

#include <sodium.h>

#include <array>

#include "base/check.h"

namespace det::auth {
namespace {

void InitSodium() {
  static const int ready = sodium_init();
  DET_CHECK(ready >= 0) << "libsodium does not start";
}

}  // namespace

absl::StatusOr<std::string> HashPassword(const std::string& password) {
  InitSodium();
  std::array<char, crypto_pwhash_STRBYTES> text;
  if (crypto_pwhash_str(text.data(), password.data(), password.size(),
                        crypto_pwhash_OPSLIMIT_INTERACTIVE,
                        crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0) {
    return absl::ResourceExhaustedError("not enough memory to hash a password");
  }
  return std::string(text.data());
}

bool PasswordMatches(const std::string& password, const std::string& hash) {
  InitSodium();
  if (hash.empty()) {
    (void)HashPassword(password);
    return false;
  }
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace det::auth
