#include "trial_api/cpp/launch/compile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fd.h"
#include "base/file.h"
#include "trial_api/cpp/launch/children.h"
#include "trial_api/cpp/launch/rank_environment.h"
#include "trial_api/cpp/launch/sources.h"
#include "trial_api/cpp/storage/storage.h"

namespace det::launch {
namespace {

namespace fs = std::filesystem;

// The file in which the SDK refers to the user's class.
constexpr char kMain[] = "trial_main.cc";

std::string ReadOrThrow(const std::string& path) {
  absl::StatusOr<std::string> text = base::ReadFile(path);
  if (!text.ok()) throw Error(std::string(text.status().message()));
  return *std::move(text);
}

std::string SdkFile(const CompileRequest& request, const std::string& name) {
  return request.sdk_dir + "/share/" + name;
}

// Returns the SDK's flags of one kind, followed by the user's.
std::vector<std::string> Flags(const CompileRequest& request, const std::string& file,
                               const std::string& more) {
  const std::string text = absl::StrCat(ReadOrThrow(SdkFile(request, file)), " ", more);
  return absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
}

std::vector<std::string> CompileFlags(const CompileRequest& request) {
  return Flags(request, "compile_flags", request.more_compile_flags);
}
std::vector<std::string> LinkFlags(const CompileRequest& request) {
  return Flags(request, "link_flags", request.more_link_flags);
}

std::vector<std::string> CompilerArguments(const CompileRequest& request, const std::string& out) {
  std::vector<std::string> argv = {request.compiler};
  for (const std::string& flag : CompileFlags(request)) argv.push_back(flag);
  const std::string source_dir = fs::path(request.source).parent_path().string();
  for (const std::string& word :
       {absl::StrCat("-I", request.sdk_dir, "/include"), std::string("-iquote."),
        absl::StrCat("-iquote", source_dir.empty() ? "." : source_dir),
        absl::StrCat("-DDET_TRIAL_SOURCE=\"", request.source, "\""),
        absl::StrCat("-DDET_TRIAL_CLASS=", request.class_name), std::string("-o"), out,
        SdkFile(request, kMain)}) {
    argv.push_back(word);
  }
  for (std::string& path : PairedSources(request.context_dir, request.source)) {
    argv.push_back(std::move(path));
  }
  argv.push_back(absl::StrCat("-L", request.sdk_dir, "/lib"));
  argv.push_back(absl::StrCat("-Wl,-rpath,", request.sdk_dir, "/lib"));
  for (const std::string& flag : LinkFlags(request)) argv.push_back(flag);
  return argv;
}

void CheckSource(const CompileRequest& request) {
  const fs::path path = fs::path(request.context_dir) / request.source;
  if (fs::is_regular_file(path)) return;
  throw InvalidCode(absl::StrCat("entrypoint: file ", request.source,
                                 " does not exist in the context directory; check `entrypoint: ",
                                 request.source, ":", request.class_name, "`"));
}

// A lock between processes, which is released when its holder ends.
base::Fd Lock(const std::string& path, Signals& signals) {
  base::Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) throw Error(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  constexpr int kPauseMs = 100;
  for (bool reported = false; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; reported = true) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw Error(absl::StrCat("cannot lock ", path, ": ", std::strerror(errno)));
    }
    if (!reported)
      std::fprintf(stderr, "INFO: waiting for another task that is compiling the same source\n");
    signals.WaitOrStop(-1, kPauseMs);
  }
  return fd;
}

// Returns whether the error is that the class, or a namespace around it, does not exist.
bool IsMissingClass(absl::string_view error, const std::string& class_name) {
  const bool in_main = absl::StartsWith(error, "<command-line>") || absl::StrContains(error, kMain);
  const bool missing = absl::StrContains(error, "was not declared") ||
                       absl::StrContains(error, "has not been declared") ||
                       absl::StrContains(error, "is not a member of");
  const std::vector<std::string> names = absl::StrSplit(class_name, "::", absl::SkipEmpty());
  return in_main && missing && std::ranges::any_of(names, [&](const std::string& name) {
           return absl::StrContains(error, name);
         });
}

void RunCompiler(const CompileRequest& request, const std::string& out, Signals& signals) {
  std::string output;
  Child compiler;
  compiler.argv = CompilerArguments(request, out);
  compiler.env = CurrentEnvironment();
  compiler.cwd = request.context_dir;
  compiler.stderr_listener = [&output](std::string_view text) { output += text; };
  const Outcome outcome = RunChildren({compiler}, signals);
  const std::string first = FirstError(output);
  const std::string missing =
      IsMissingClass(first, request.class_name)
          ? absl::StrCat("class ", request.class_name, " is not defined in ", request.source)
          : "";
  // Printed before the compiler's output, which refers to a file that the user does not know.
  if (!missing.empty()) std::fprintf(stderr, "ERROR: %s\n", missing.c_str());
  std::fwrite(output.data(), 1, output.size(), stderr);
  if (outcome.stop_signal) throw Stopped(*outcome.stop_signal);
  if (!outcome.failed) return;
  if (outcome.exit.signal != 0 || first.empty()) {
    throw Error(absl::StrCat("the compiler ", request.compiler, " failed without an error in ",
                             request.source,
                             "; check that it is installed and that there is free disk space"));
  }
  if (!missing.empty()) {
    throw InvalidCode(absl::StrCat(missing, "; check `entrypoint: ", request.source, ":",
                                   request.class_name, "`"));
  }
  throw InvalidCode(absl::StrCat(request.source, " cannot be compiled as Trial ",
                                 request.class_name, ": ", first));
}

void CompileInto(const CompileRequest& request, const std::string& program, Signals& signals) {
  std::fprintf(stderr, "INFO: compiling %s\n", request.source.c_str());
  const auto start = std::chrono::steady_clock::now();
  // In the same directory as the final file, so that a rename makes it visible as a whole.
  const std::string aside = absl::StrCat(program, ".", ::getpid());
  try {
    RunCompiler(request, aside, signals);
    fs::rename(aside, program);
  } catch (...) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    throw;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::fprintf(stderr, "INFO: compiled %s in %.1f s\n", request.source.c_str(), took.count());
}

}  // namespace

std::string FirstError(const std::string& compiler_output) {
  for (const absl::string_view line : absl::StrSplit(compiler_output, '\n')) {
    if (absl::StrContains(line, "error: ") || absl::StrContains(line, "undefined reference")) {
      return std::string(absl::StripPrefix(line, "./"));
    }
  }
  return "";
}

std::string CacheKey(const CompileRequest& request) {
  std::string all = absl::StrCat(
      ReadOrThrow(SdkFile(request, "version")), "\n", request.sdk_dir, "\n", request.compiler, "\n",
      request.source, "\n", request.class_name, "\n", absl::StrJoin(CompileFlags(request), " "),
      "\n", absl::StrJoin(LinkFlags(request), " "));
  for (const std::string& file : CodeFiles(request.context_dir)) {
    absl::StrAppend(&all, "\n", file, " ",
                    storage::ComputeFileSha256(absl::StrCat(request.context_dir, "/", file)));
  }
  return storage::ComputeTextSha256(all);
}

std::string Compile(const CompileRequest& request, Signals& signals) {
  try {
    CheckSource(request);
    const std::string dir = absl::StrCat(request.cache_dir, "/trials/", CacheKey(request));
    const std::string program = dir + "/trial";
    if (fs::exists(program)) return program;
    fs::create_directories(dir);
    const base::Fd lock = Lock(dir + "/lock", signals);
    if (!fs::exists(program)) CompileInto(request, program, signals);
    return program;
  } catch (const fs::filesystem_error& e) {
    throw Error(absl::StrCat(e.what(), "; check the cache directory and the context directory"));
  }
}

}  // namespace det::launch
