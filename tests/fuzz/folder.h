// The folder into which archives are unpacked, and checks of its content.
#ifndef TESTS_FUZZ_FOLDER_H_
#define TESTS_FUZZ_FOLDER_H_

#include <filesystem>
#include <string>

#include "base/fd.h"

namespace fuzz {

// Aborts the process if the condition is false, which libFuzzer reports as a crash.
void Check(bool condition, const std::string& message);

// The path of a folder in memory, always the same. It does not exist at the first call; callers
// delete it.
std::filesystem::path UnpackFolder();

// A file in memory with these bytes, at offset 0.
det::base::Fd MakeFile(const std::string& bytes);

// Checks that the folder contains no device, no set-uid or set-gid bit, and no link to a path
// outside of it.
void CheckInside(const std::filesystem::path& folder);

}  // namespace fuzz

#endif  // TESTS_FUZZ_FOLDER_H_
