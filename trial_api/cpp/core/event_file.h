// Writes a file of TensorBoard events: TFRecord frames (length, its masked CRC-32C, data, its
// masked CRC-32C) with an `Event` of tensorflow/core/util/event.proto each. Does not need
// TensorBoard.
//
// One thread at a time. Throws Error if the file cannot be written.
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
  // Creates the directory `folder`, and a file in it with a unique name.
  EventFile(const std::string& folder, WallClock now);

  void AddScalar(const std::string& tag, int64_t step, double value);
  void AddText(const std::string& tag, int64_t step, const std::string& text);
  // Marks the start of an attempt: TensorBoard hides what earlier files of the directory contain
  // for `step` and later ones.
  void AddStart(int64_t step);
  // Flushes, so that everything that was added can be read.
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
