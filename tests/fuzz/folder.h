// A folder that archives are unpacked into, and what must hold of it.
#ifndef TESTS_FUZZ_FOLDER_H_
#define TESTS_FUZZ_FOLDER_H_

#include <filesystem>
#include <string>

#include "base/fd.h"

namespace fuzz {

// Ends the process, which libFuzzer takes for a crash, where it is not kept.
void Promise(bool kept, const std::string& what);

// In memory; the same each time, and empty as its user leaves it.
std::filesystem::path Place();

// To be read from its beginning.
det::base::Fd FileOf(const std::string& bytes);

// Promises that it holds no device, no set-id bit and no link out of it.
void CheckInside(const std::filesystem::path& folder);

}  // namespace fuzz

#endif  // TESTS_FUZZ_FOLDER_H_
