#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/storage/storage.h"
#include <openssl/evp.h>

namespace det::storage {
namespace {

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    Require(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
  }

  void Add(std::string_view bytes) {
    Require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }

  std::string Finish() {
    std::array<char, EVP_MAX_MD_SIZE> bytes;
    unsigned size = 0;
    Require(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(bytes.data()),
                               &size) == 1);
    return absl::BytesToHexString(absl::string_view(bytes.data(), size));
  }

 private:
  static void Require(bool ok) {
    if (!ok) throw Error("SHA-256 is not available in this OpenSSL");
  }

  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string ComputeTextSha256(const std::string& text) {
  Digest digest;
  digest.Add(text);
  return digest.Finish();
}

std::string ComputeFileSha256(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error("cannot read " + path + ": " + std::strerror(errno));
  Digest digest;
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    digest.Add({buffer.data(), static_cast<size_t>(in.gcount())});
  }
  if (in.bad()) throw Error("cannot read " + path + ": " + std::strerror(errno));
  return digest.Finish();
}

}  // namespace det::storage
