// A file of TensorBoard's events: frames (length, masked CRC-32C of it, bytes, theirs) as TFRecord
// has them, each an `Event` of tensorflow/core/util/event.proto. TensorBoard itself is not needed.
//
// One thread at a time. Throws Error for what the disk refuses.
#ifndef TRIAL_API_CPP_CORE_EVENT_FILE_H_
#define TRIAL_API_CPP_CORE_EVENT_FILE_H_

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>

namespace det::core {

// Seconds since 1970.
using WallClock = std::function<double()>;

class EventFile {
 public:
  // Makes `folder`, and a file in it whose name no other has.
  EventFile(const std::string& folder, WallClock now);

  void AddScalar(const std::string& tag, int64_t step, double value);
  void AddText(const std::string& tag, int64_t step, const std::string& text);
  // What was added can be read.
  void Flush();

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }

 private:
  void Write(int64_t step, const std::string& rest);

  const WallClock now_;
  std::string path_;
  std::ofstream file_;
  int64_t bytes_ = 0;
};

}  // namespace det::core

#endif  // TRIAL_API_CPP_CORE_EVENT_FILE_H_
