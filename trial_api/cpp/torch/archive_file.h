// A file of a checkpoint as libtorch reads and writes it. Any thread.
#ifndef TRIAL_API_CPP_TORCH_ARCHIVE_FILE_H_
#define TRIAL_API_CPP_TORCH_ARCHIVE_FILE_H_

#include <functional>
#include <string>

#include <torch/torch.h>

namespace det::trial {

// Calls `read` with the archive of `path`, its tensors on `device`. Throws Error naming the file
// when libtorch finds that it does not fit, of which it does not say itself what file it was.
void ReadArchive(const std::string& path, torch::Device device,
                 const std::function<void(torch::serialize::InputArchive&)>& read);

// Throws Error naming the file and the reason when it cannot be written whole.
void WriteArchive(torch::serialize::OutputArchive& archive, const std::string& path);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_ARCHIVE_FILE_H_
