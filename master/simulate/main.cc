// resolute-simulate: simulates the decisions of a master. Only this file does I/O.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <iterator>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "master/core/scheduler/json/snapshot_json.h"
#include "master/core/scheduler/scheduler.h"
#include "master/simulate/flags.h"
#include "master/simulate/report.h"

namespace det::simulate {
namespace {

bool Bold() { return ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr; }

absl::StatusOr<std::string> ReadInput(const std::string& file) {
  if (file != "-") return base::ReadFile(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
}

std::string GetDisplayName(const std::string& file) { return file == "-" ? "stdin" : file; }

absl::Status RunSchedule(const Flags& flags) {
  DET_ASSIGN_OR_RETURN(const std::string text, ReadInput(flags.snapshot));
  const auto snapshot = scheduler::ParseSnapshot(text);
  if (!snapshot.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(GetDisplayName(flags.snapshot), ": ", snapshot.status().message()));
  }
  const scheduler::Scheduled scheduled = scheduler::Schedule(*snapshot);
  std::cout << (flags.json ? PlanJson(scheduled) : PlanText(*snapshot, scheduled, Bold()));
  return absl::OkStatus();
}

absl::StatusOr<Workload> ReadWorkload(const Flags& flags) {
  if (flags.workload.empty()) return MakeTrace(flags.trace);
  DET_ASSIGN_OR_RETURN(const std::string text, ReadInput(flags.workload));
  return ParseWorkload(text, GetDisplayName(flags.workload));
}

absl::Status RunCluster(const Flags& flags) {
  DET_ASSIGN_OR_RETURN(const Workload workload, ReadWorkload(flags));
  DET_ASSIGN_OR_RETURN(const Simulation simulation, Simulate(workload, flags.options));
  const Figures figures = MakeFigures(workload, flags.options, simulation);
  if (!flags.jobs_file.empty()) {
    DET_RETURN_IF_ERROR(base::WriteFileAtomically(flags.jobs_file, JobsCsv(workload, simulation)));
  }
  std::cout << (flags.json ? FiguresJson(figures, simulation)
                           : FiguresText(figures, simulation, Bold()));
  return absl::OkStatus();
}

absl::Status RunWorkload(const Flags& flags, int argc, char** argv) {
  std::string command = "made by: det cluster";
  for (int i = 1; i < argc; ++i) absl::StrAppend(&command, " ", argv[i]);
  std::cout << ToCsv(MakeTrace(flags.trace), command);
  return absl::OkStatus();
}

absl::Status RunCommand(const Flags& flags, int argc, char** argv) {
  switch (flags.command) {
    case Command::kSchedule:
      return RunSchedule(flags);
    case Command::kCluster:
      return RunCluster(flags);
    case Command::kWorkload:
      return RunWorkload(flags, argc, argv);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace det::simulate

int main(int argc, char** argv) {
  const auto parsed = det::simulate::ParseFlags(argc, argv);
  if (const auto* exit = std::get_if<det::simulate::Exit>(&parsed)) return exit->code;
  const absl::Status status =
      det::simulate::RunCommand(std::get<det::simulate::Flags>(parsed), argc, argv);
  if (!status.ok()) {
    std::cerr << "resolute-simulate: " << status.message() << "\n";
    return 1;
  }
  std::cout.flush();
  return std::cout.good() ? 0 : 1;
}
