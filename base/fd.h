// A file descriptor that is closed in the destructor. Used on any thread. Never duplicates the
// descriptor and never reads from it.
#ifndef BASE_FD_H_
#define BASE_FD_H_

#include <unistd.h>

#include <utility>

namespace det::base {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = other.Release();
    }
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (valid()) ::close(Release());
  }

 private:
  int fd_ = -1;
};

}  // namespace det::base

#endif  // BASE_FD_H_
