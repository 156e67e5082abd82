#include "trial_api/cpp/torch/archive_file.h"

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

}  // namespace det::trial
