// Reads and writes checkpoint files as libtorch archives. Any thread.
#ifndef TRIAL_API_CPP_TORCH_ARCHIVE_FILE_H_
#define TRIAL_API_CPP_TORCH_ARCHIVE_FILE_H_

#include <functional>
#include <string>

#include <torch/serialize/archive.h>
#include <torch/types.h>

namespace det::trial {

// Calls `read` with the archive at `path`, with its tensors on `device`. Throws Error with the file
// name if libtorch rejects the content.
void ReadArchive(const std::string& path, torch::Device device,
                 const std::function<void(torch::serialize::InputArchive&)>& read);

// Throws Error with the file name and the reason if the file cannot be written completely.
void WriteArchive(torch::serialize::OutputArchive& archive, const std::string& path);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_ARCHIVE_FILE_H_
