#include "trial_api/cpp/torch/archive_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "trial_api/cpp/core/error.h"

namespace det::trial {

void ReadArchive(const std::string& path, torch::Device device,
                 const std::function<void(torch::serialize::InputArchive&)>& read) {
  try {
    torch::serialize::InputArchive archive;
    archive.load_from(path, device);
    read(archive);
  } catch (const c10::Error& error) {
    throw Error("checkpoint file " + path +
                " does not fit this trial: " + error.what_without_backtrace());
  }
}

// Write failures, such as a full disk, are not reported to libtorch: it would throw, and its writer
// would throw again in its destructor, which ends the process.
void WriteArchive(torch::serialize::OutputArchive& archive, const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "wb"),
                                                       &std::fclose);
  int error = file ? 0 : errno;
  const auto write = [&](const void* data, size_t size) {
    if (error == 0 && std::fwrite(data, 1, size, file.get()) != size) error = errno;
    return size;
  };
  if (file) {
    try {
      archive.save_to(write);
    } catch (const c10::Error& failure) {
      throw Error("cannot write " + path + ": " + failure.what_without_backtrace());
    }
    // fclose writes buffered data.
    if (std::fclose(file.release()) != 0 && error == 0) error = errno;
  }
  if (error != 0) throw Error("cannot write " + path + ": " + std::strerror(error));
}

}  // namespace det::trial
