#include "master/simulate/flags.h"

#include <iostream>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/install.h"
#include "master/core/scheduler/json/members.h"
#include <CLI/CLI.hpp>

namespace det::simulate {
namespace {

// As written, before they are looked at.
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
  app.add_option("--jobs", t.jobs, "Jobs of the synthetic workload")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app.add_option("--load", t.load, "Slot hours that they want, of those there are as they arrive")
      ->check(CLI::Range(0.01, 100.0))
      ->capture_default_str();
  app.add_option("--seed", t.seed, "Another seed, another workload")->capture_default_str();
}

void AddTraceShape(CLI::App& app, Flags& flags, Words& words) {
  TraceOptions& t = flags.trace;
  app.add_option("--users", t.users, "Users, the k-th with 1/k of the jobs of the first")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--workspaces", t.workspaces, "Workspaces to which the users belong")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--max-slots", t.max_slots,
                 "Slots of the largest job (0: an eighth of the cluster, 8 at least, 512 at most)")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  app.add_option("--median-length", words.median_length, "Of the jobs of one slot in the body")
      ->capture_default_str();
  app.add_option("--max-length", words.max_length, "Of any job")->capture_default_str();
  app.add_option("--tail", t.tail, "Share of the jobs whose length is of the heavy tail")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--run-times", t.run_times, "Share of the jobs that say a max_run_time")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
}

void AddAgents(CLI::App& app, Words& words) {
  app.add_option(
         "--agents", words.agents,
         "Agents and their slots, such as 1000x8 or 4x8:large for a pool of its own; may be "
         "given again (default: 1000x8)")
      ->allow_extra_args(false);
}

CLI::App* AddSchedule(CLI::App& app, Flags& flags) {
  CLI::App* command =
      app.add_subcommand("schedule", "One pass of the scheduler on a snapshot, with its reasons");
  command->add_option("--snapshot", flags.snapshot, "Snapshot (JSON); - is stdin")->required();
  command->add_flag("--json", flags.json, "Print the plan as JSON");
  return command;
}

CLI::App* AddCluster(CLI::App& app, Flags& flags, Words& words) {
  CLI::App* command =
      app.add_subcommand("cluster", "A workload on a cluster, in virtual time: utilisation, waits");
  command->add_option("--workload", flags.workload,
                      "Jobs (CSV or YAML); - is stdin; without: a synthetic workload");
  AddAgents(*command, words);
  command->add_option("--policy", words.policy, "priority, fair_share or fifo")
      ->check(CLI::IsMember({"priority", "fair_share", "fifo"}))
      ->capture_default_str();
  command->add_flag("--preemption", flags.options.settings.preemption,
                    "More important jobs make less important ones leave");
  command->add_flag("--no-backfill", words.no_backfill,
                    "Nobody starts behind one who waits for slots: strict order");
  command->add_option("--fit", words.fit, "best or worst")
      ->check(CLI::IsMember({"best", "worst"}))
      ->capture_default_str();
  command
      ->add_option("--checkpoint-every", words.checkpoint_every,
                   "What a preempted job keeps: all up to a multiple of this")
      ->capture_default_str();
  AddTrace(*command, flags);
  command->add_option("--jobs-out", flags.jobs_file, "Write what became of each job (CSV)");
  command->add_flag("--json", flags.json, "Print the figures as JSON");
  return command;
}

CLI::App* AddWorkload(CLI::App& app, Flags& flags, Words& words) {
  CLI::App* command = app.add_subcommand(
      "workload", "Print a synthetic workload (CSV) with a heavy tail of sizes and lengths");
  AddAgents(*command, words);
  AddTrace(*command, flags);
  AddTraceShape(*command, flags, words);
  return command;
}

std::string ReadSpan(const std::string& option, const std::string& text, absl::Duration* out) {
  const auto span = scheduler::DurationOf(text);
  if (!span || *span <= absl::ZeroDuration() || *span == absl::InfiniteDuration()) {
    return absl::StrCat(option, ": expected seconds or a duration such as 90m, found \"", text,
                        "\"");
  }
  *out = *span;
  return "";
}

// Empty, or what is wrong.
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
  // Jobs without a pool go to the first: that is what the load is of.
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
      "The decisions of a Resolute master without a master: one pass of its scheduler on a "
      "snapshot, or a whole workload on a cluster in virtual time.",
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
