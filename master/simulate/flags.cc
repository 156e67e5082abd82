#include "master/simulate/flags.h"

#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/installation.h"
#include "master/core/scheduler/json/members.h"
#include <CLI/CLI.hpp>

namespace det::simulate {
namespace {

// Flag values as strings, before parsing.
struct Words {
  std::vector<std::string> agents;
  std::string policy = "priority";
  std::string fit = "best";
  std::string checkpoint_every = "10m";
  std::string median_length = "4m";
  std::string max_length = "72h";
  bool no_backfill = false;
};

void AddTrace(CLI::App& app, Flags& flags) {
  TraceOptions& t = flags.trace;
  app.add_option("--jobs", t.jobs, "Number of jobs of the synthetic workload")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--load", t.load, "Requested slot hours per available slot hour during arrivals")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "Seed of the workload")->capture_default_str();
}

void AddTraceShape(CLI::App& app, Flags& flags, Words& words) {
  TraceOptions& t = flags.trace;
  app.add_option("--users", t.users, "Number of users; the k-th has 1/k of the jobs of the first")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--workspaces", t.workspaces, "Number of workspaces of the users")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--max-slots", t.max_slots,
                 "Slots of the largest job (0: an eighth of the cluster, from 8 to 512)")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--median-length", words.median_length,
                 "Median length of one-slot jobs outside of the tail")
      ->capture_default_str();
  app.add_option("--max-length", words.max_length, "Maximum length of a job")
      ->capture_default_str();
  app.add_option("--tail", t.tail, "Fraction of the jobs with a length of the heavy tail")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--run-times", t.run_times, "Fraction of the jobs with a max_run_time")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

void AddAgents(CLI::App& app, Words& words) {
  app.add_option(
         "--agents", words.agents,
         "Agents and their slots, such as 1000x8, or 4x8:large for another pool; repeatable "
         "(default: 1000x8)")
      ->allow_extra_args(false);
}

CLI::App* AddSchedule(CLI::App& app, Flags& flags) {
  CLI::App* command =
      app.add_subcommand("schedule", "Run one scheduling pass on a snapshot and explain it");
  command->add_option("--snapshot", flags.snapshot, "Snapshot file (JSON), or - for stdin")
      ->required();
  command->add_flag("--json", flags.json, "Print the plan as JSON");
  return command;
}

CLI::App* AddCluster(CLI::App& app, Flags& flags, Words& words) {
  CLI::App* command =
      app.add_subcommand("cluster", "Simulate a workload on a cluster in virtual time");
  command->add_option("--workload", flags.workload,
                      "Workload file (CSV or YAML), or - for stdin (default: synthetic)");
  AddAgents(*command, words);
  command->add_option("--policy", words.policy, "Scheduling policy: priority, fair_share or fifo")
      ->check(CLI::IsMember({"priority", "fair_share", "fifo"}))
      ->capture_default_str();
  command->add_flag("--preemption", flags.options.settings.preemption,
                    "Let jobs preempt jobs of lower rank");
  command->add_flag("--no-backfill", words.no_backfill,
                    "Disable backfill: start jobs in strict order");
  command->add_option("--fit", words.fit, "Fitting policy: best or worst")
      ->check(CLI::IsMember({"best", "worst"}))
      ->capture_default_str();
  command
      ->add_option("--checkpoint-every", words.checkpoint_every,
                   "Interval of checkpoints, from which preempted jobs resume")
      ->capture_default_str();
  AddTrace(*command, flags);
  command->add_option("--jobs-out", flags.jobs_file,
                      "Write the outcome of each job to a file (CSV)");
  command->add_flag("--json", flags.json, "Print the figures as JSON");
  return command;
}

CLI::App* AddWorkload(CLI::App& app, Flags& flags, Words& words) {
  CLI::App* command = app.add_subcommand(
      "workload", "Print a synthetic workload (CSV) with heavy-tailed sizes and lengths");
  AddAgents(*command, words);
  AddTrace(*command, flags);
  AddTraceShape(*command, flags, words);
  return command;
}

std::string ReadSpan(const std::string& option, const std::string& text, absl::Duration* out) {
  const auto span = scheduler::ParseDuration(text);
  if (!span || *span <= absl::ZeroDuration() || *span == absl::InfiniteDuration()) {
    return absl::StrCat(option, ": expected seconds or a duration such as 90m, found \"", text,
                        "\"");
  }
  *out = *span;
  return "";
}

// Returns an error message; empty if the flags are valid.
std::string Settle(const Words& words, Flags& flags) {
  Options& options = flags.options;
  options.settings.policy = *model::ParseSchedulingPolicy(words.policy);
  options.settings.fitting = *model::ParseFittingPolicy(words.fit);
  options.settings.backfill = !words.no_backfill;
  if (!words.agents.empty()) options.agents.clear();
  for (const std::string& text : words.agents) {
    auto group = ParseAgentGroup(text);
    if (!group.ok()) return absl::StrCat("--agents: ", group.status().message());
    options.agents.push_back(*std::move(group));
  }
  // Jobs without a pool run in the first one, so the load refers to it.
  int64_t slots = 0;
  for (const AgentGroup& group : options.agents) {
    if (group.pool == options.agents[0].pool) slots += int64_t{group.agents} * group.slots;
  }
  flags.trace.cluster_slots = static_cast<int>(slots);
  for (const std::string& wrong :
       {ReadSpan("--checkpoint-every", words.checkpoint_every, &options.checkpoint_every),
        ReadSpan("--median-length", words.median_length, &flags.trace.median_length),
        ReadSpan("--max-length", words.max_length, &flags.trace.max_length)}) {
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

std::variant<Flags, Exit> ParseFlags(int argc, char** argv) {
  Flags flags;
  Words words;
  CLI::App app(
      "Simulate the decisions of a Resolute master: one scheduling pass on a snapshot, or a "
      "whole workload on a cluster in virtual time.",
      "resolute-simulate");
  app.set_version_flag("--version", std::string("resolute-simulate ") + base::kVersion);
  app.require_subcommand(1);
  const CLI::App* schedule = AddSchedule(app, flags);
  const CLI::App* cluster = AddCluster(app, flags, words);
  AddWorkload(app, flags, words);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return Exit{app.exit(error)};
    std::cerr << "resolute-simulate: " << error.what() << "; see resolute-simulate --help\n";
    return Exit{2};
  }
  flags.command = schedule->parsed()  ? Command::kSchedule
                  : cluster->parsed() ? Command::kCluster
                                      : Command::kWorkload;
  if (const std::string wrong = Settle(words, flags); !wrong.empty()) {
    std::cerr << "resolute-simulate: " << wrong << "\n";
    return Exit{2};
  }
  return flags;
}

}  // namespace det::simulate
