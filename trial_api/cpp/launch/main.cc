// Entry point of resolute-launch, which compiles a user's Trial and runs one process per slot: on
// the cluster as the agent's command for `entrypoint: file.cc:Class`, or with --local in a shell.
#include <climits>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "trial_api/cpp/core/environment.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/launch/launch.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {
namespace {

constexpr int kWrongUsage = 2;

// Returns <SDK> for <SDK>/bin/resolute-launch.
std::string OwnSdk() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path().string();
}

// Adds the flags that are passed on to the trial.
void AddTrialFlags(CLI::App* app, std::vector<std::string>* arguments) {
  const auto add = [&](const std::string& name, const std::string& help) {
    const auto pass = [name, arguments](const std::vector<std::string>& values) {
      for (const std::string& value : values) arguments->push_back(absl::StrCat(name, "=", value));
      return true;
    };
    app->add_option(name, pass, absl::StrCat("With --local: ", help))
        ->type_size(1)
        ->expected(1, INT_MAX)
        ->allow_extra_args(false)
        ->needs("--local");
  };
  add("--config", "experiment configuration file (YAML)");
  add("--hparam", "override a hyperparameter, NAME=VALUE; repeatable");
  add("--checkpoint-dir", "checkpoint directory (default: ./checkpoints)");
  add("--restore", "start from the checkpoint with this UUID");
  add("--max-length", "training length, such as \"3 epochs\" or \"500 batches\"");
  add("--seed", "override the random seed");
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Compile a Trial and run it with one process per slot.", "resolute-launch");
  app.add_option("--source", options.source, "C++ file with the Trial")->required();
  app.add_option("--class", options.class_name, "Name of the Trial class")->required();
  app.add_option("--sdk-dir", options.sdk_dir,
                 "Directory of the Trial API (default: relative to this program)");
  app.add_flag("--local", options.local, "Run here, without a cluster");
  app.add_option("--slots", options.slots, "With --local: number of processes")->needs("--local");
  AddTrialFlags(&app, &options.trial_arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kWrongUsage;
  }
  if (options.slots < 1) {
    std::fprintf(stderr, "ERROR: --slots must be at least 1, not %d\n", options.slots);
    return kWrongUsage;
  }
  if (!options.local && !core::OnCluster()) {
    std::fprintf(stderr, "ERROR: not running as a task of a cluster; add --local to run here\n");
    return kWrongUsage;
  }
  if (options.sdk_dir.empty()) options.sdk_dir = OwnSdk();
  try {
    Signals signals;
    return options.local ? LaunchLocal(options, signals) : LaunchOnCluster(options, signals);
  } catch (const Stopped& e) {
    return 128 + e.signal();
  } catch (const Error& e) {
    std::fprintf(stderr, "ERROR: %s\n", e.what());
    return 1;
  }
}

}  // namespace
}  // namespace det::launch

int main(int argc, char** argv) { return det::launch::Main(argc, argv); }
