#include "master/api/tasks/ssh_key.h"

#include <array>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include <openssl/evp.h>
#include <openssl/rand.h>

namespace det::api {
namespace {

constexpr char kType[] = "ssh-ed25519";
constexpr size_t kKeySize = 32;

// Numbers and texts as the SSH protocol writes them (RFC 4251, section 5).
void AppendNumber(std::string& out, uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(number >> shift);
}
void AppendText(std::string& out, absl::string_view text) {
  AppendNumber(out, static_cast<uint32_t>(text.size()));
  absl::StrAppend(&out, text);
}

std::string MakePublicBlob(const std::string& public_key) {
  std::string blob;
  AppendText(blob, kType);
  AppendText(blob, public_key);
  return blob;
}

// The format is described in PROTOCOL.key of OpenSSH.
std::string MakePrivateBlob(const std::string& secret, const std::string& public_key,
                            uint32_t check) {
  std::string keys;
  AppendNumber(keys, check);  // twice: shows whether a passphrase was right
  AppendNumber(keys, check);
  AppendText(keys, kType);
  AppendText(keys, public_key);
  AppendText(keys, secret + public_key);
  AppendText(keys, "");  // comment
  constexpr size_t kBlockSize = 8;
  for (char padding = 1; keys.size() % kBlockSize != 0; ++padding) keys += padding;

  std::string blob("openssh-key-v1\0", 15);
  AppendText(blob, "none");  // cipher
  AppendText(blob, "none");  // key derivation, and its options
  AppendText(blob, "");
  AppendNumber(blob, 1);  // number of keys
  AppendText(blob, MakePublicBlob(public_key));
  AppendText(blob, keys);
  return blob;
}

std::string ToPem(const std::string& blob) {
  constexpr size_t kLineLength = 70;
  const std::string text = absl::Base64Escape(blob);
  std::string pem = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  for (size_t i = 0; i < text.size(); i += kLineLength) {
    absl::StrAppend(&pem, text.substr(i, kLineLength), "\n");
  }
  return absl::StrCat(pem, "-----END OPENSSH PRIVATE KEY-----\n");
}

}  // namespace

absl::StatusOr<SshKey> MakeSshKey() {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(
      ::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), ::EVP_PKEY_free);
  std::array<unsigned char, kKeySize> secret, open;
  std::array<unsigned char, 4> random;
  size_t secret_size = secret.size(), open_size = open.size();
  if (key == nullptr ||
      ::EVP_PKEY_get_raw_private_key(key.get(), secret.data(), &secret_size) != 1 ||
      ::EVP_PKEY_get_raw_public_key(key.get(), open.data(), &open_size) != 1 ||
      ::RAND_bytes(random.data(), random.size()) != 1) {
    return absl::InternalError("OpenSSL cannot generate a key");
  }
  const std::string public_key(open.begin(), open.end());
  uint32_t check = 0;
  for (const unsigned char byte : random) check = check << 8 | byte;
  return SshKey{
      ToPem(MakePrivateBlob(std::string(secret.begin(), secret.end()), public_key, check)),
      absl::StrCat(kType, " ", absl::Base64Escape(MakePublicBlob(public_key)), "\n")};
}

}  // namespace det::api
