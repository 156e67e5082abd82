#include "agent/link/context_cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/link/backoff.h"
#include "base/file.h"
#include "base/status_macros.h"
#include <openssl/evp.h>

namespace det::agent {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }
  void Add(absl::string_view data) { EVP_DigestUpdate(context_.get(), data.data(), data.size()); }
  std::string Hex() {
    std::string digest(32, '\0');
    EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
    return absl::BytesToHexString(digest);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context_;
};

// Checks the hash, because it becomes a file name.
bool IsHash(absl::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

absl::Status WriteAll(int fd, absl::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t wrote = ::write(fd, data.data(), data.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
    data.remove_prefix(static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<base::Fd> ContextCache::Open(const std::string& hash, std::stop_token stop) {
  if (!IsHash(hash)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the context's hash ", hash, " is not a SHA-256 in hexadecimal form"));
  }
  {
    std::unique_lock lock(mutex_);
    if (!fetched_.wait(lock, stop, [&] { return !fetching_.contains(hash); })) {
      return absl::CancelledError("stopped while another task was fetching the context");
    }
    if (absl::StatusOr<base::Fd> cached = OpenCached(hash); cached.ok()) return cached;
    fetching_.insert(hash);
  }
  absl::Status status = Fetch(hash, stop);
  absl::StatusOr<base::Fd> opened = status.ok() ? OpenCached(hash) : status;
  {
    std::lock_guard lock(mutex_);
    fetching_.erase(hash);
  }
  fetched_.notify_all();
  if (opened.ok()) return opened;
  return absl::Status(opened.status().code(),
                      absl::StrCat("cannot get the context: ", opened.status().message()));
}

std::string ContextCache::GetPath(const std::string& hash) const {
  return absl::StrCat(dir_, "/", hash, ".tgz");
}

absl::StatusOr<base::Fd> ContextCache::OpenCached(const std::string& hash) const {
  const std::string path = GetPath(hash);
  base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  (void)::futimens(fd.get(), nullptr);  // Marks the archive as recently used, for Evict.
  return fd;
}

absl::Status ContextCache::Fetch(const std::string& hash, const std::stop_token& stop) const {
  Backoff backoff(std::random_device{}());
  std::mutex mutex;
  std::condition_variable_any never;
  while (true) {
    const absl::Status status = FetchOnce(hash, stop);
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (!absl::IsUnavailable(status)) return status;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, absl::ToChronoMilliseconds(backoff.Next()), [] { return false; });
    if (stop.stop_requested()) return absl::CancelledError("stopped");
  }
}

absl::Status ContextCache::FetchOnce(const std::string& hash, const std::stop_token& stop) const {
  DET_RETURN_IF_ERROR(base::MakeDirs(dir_));
  std::string temporary = absl::StrCat(dir_, "/.fetch-XXXXXX");
  base::Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write into ", dir_));
  Sha256 sha;
  absl::Status status = reader_->ReadContext(hash, stop, [&](absl::string_view chunk) {
    sha.Add(chunk);
    return WriteAll(fd.get(), chunk, temporary);
  });
  if (status.ok() && sha.Hex() != hash) {
    status = absl::DataLossError(
        absl::StrCat("the archive from the master does not have the SHA-256 ", hash));
  }
  if (status.ok() &&
      (::fsync(fd.get()) != 0 || ::rename(temporary.c_str(), GetPath(hash).c_str()))) {
    status = absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", GetPath(hash)));
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  Evict(hash);
  return absl::OkStatus();
}

void ContextCache::Evict(const std::string& keep) const {
  struct CachedFile {
    std::filesystem::file_time_type used;
    uint64_t size = 0;
    std::filesystem::path path;
  };
  std::vector<CachedFile> files;
  uint64_t total = 0;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(dir_, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (it->path().extension() != ".tgz") continue;
    std::error_code gone;
    const CachedFile file{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (gone) continue;
    total += file.size;
    if (file.path != GetPath(keep)) files.push_back(file);
  }
  std::sort(files.begin(), files.end(),
            [](const CachedFile& a, const CachedFile& b) { return a.used < b.used; });
  for (const CachedFile& file : files) {
    if (total <= limit_bytes_) return;
    std::error_code ignored;  // Open descriptors remain valid.
    if (std::filesystem::remove(file.path, ignored)) total -= file.size;
  }
}

}  // namespace det::agent
