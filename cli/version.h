// The version of the command line.
#ifndef CLI_VERSION_H_
#define CLI_VERSION_H_

namespace det::cli {
inline constexpr char kVersion[] = "0.1.0";
}  // namespace det::cli

#endif  // CLI_VERSION_H_
