#include "master/simulate/report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "master/core/model/value.h"
#include "master/simulate/table.h"

namespace det::simulate {
namespace {

using model::Value;

std::vector<std::string> Row(const Waits& w) {
  return {w.group,     absl::StrCat(w.jobs), Fixed(w.slot_hours, 0), Span(w.median), Span(w.p90),
          Span(w.p99), Span(w.max)};
}

std::string WaitsTable(const std::string& title, const std::vector<Waits>& groups, size_t most,
                       bool bold) {
  std::vector<std::vector<std::string>> rows;
  for (const Waits& w : groups) {
    if (rows.size() < most) rows.push_back(Row(w));
  }
  const std::string text = Table({{title},
                                  {"STARTED", true},
                                  {"SLOT HOURS", true},
                                  {"MEDIAN WAIT", true},
                                  {"P90", true},
                                  {"P99", true},
                                  {"MAX", true}},
                                 rows, bold);
  const size_t left = groups.size() - rows.size();
  return absl::StrCat("\n", text, left == 0 ? "" : absl::StrCat("and ", left, " more\n"));
}

// Returns why jobs did not complete: each reason with the number of jobs.
std::vector<std::pair<std::string, int64_t>> Failures(const Simulation& simulation) {
  std::vector<std::pair<std::string, int64_t>> out;
  for (const JobRecord& job : simulation.jobs) {
    if (job.completed) continue;
    const auto same = [&](const auto& entry) { return entry.first == job.why; };
    const auto it = std::find_if(out.begin(), out.end(), same);
    if (it == out.end()) {
      out.emplace_back(job.why, 1);
    } else {
      ++it->second;
    }
  }
  return out;
}

Value ToValue(const Utilisation& u) {
  return Value::Object{
      {"reached", u.reached}, {"bound", u.bound}, {"of_bound", u.GetRatioToBound()}};
}

Value ToValue(const Waits& w) {
  return Value::Object{{"of", w.group},
                       {"started", w.jobs},
                       {"slot_hours", w.slot_hours},
                       {"median", absl::ToDoubleSeconds(w.median)},
                       {"p90", absl::ToDoubleSeconds(w.p90)},
                       {"p99", absl::ToDoubleSeconds(w.p99)},
                       {"max", absl::ToDoubleSeconds(w.max)}};
}

Value ToValue(const std::vector<Waits>& groups) {
  Value::List list;
  for (const Waits& w : groups) list.push_back(ToValue(w));
  return list;
}

}  // namespace

std::string FiguresText(const Figures& f, const Simulation& simulation, bool bold) {
  std::string text =
      Table({{"SLOTS USED"},
             {"REACHED", true},
             {"UPPER BOUND", true},
             {"OF BOUND", true},
             {"OVER", true}},
            {{"while jobs arrive", Percent(f.in_window.reached), Percent(f.in_window.bound),
              Fixed(f.in_window.GetRatioToBound(), 3), Span(f.window)},
             {"until the last ends", Percent(f.in_makespan.reached), Percent(f.in_makespan.bound),
              Fixed(f.in_makespan.GetRatioToBound(), 3), Span(f.makespan)}},
            bold);
  absl::StrAppend(&text, "\n");
  std::vector<std::vector<std::string>> facts = {
      {"jobs", absl::StrCat(f.jobs, ", ", f.completed, " completed")},
      {"slots", absl::StrCat(f.slots)},
      {"offered load", Percent(f.offered_load)},
      {"preemptions",
       absl::StrCat(f.preemptions, ", ", Fixed(f.lost_slot_hours, 1), " slot hours lost")},
      {"fairness by user", absl::StrCat(Fixed(f.fairness, 3), " (Jain; 1 is even)")},
      {"scheduler", absl::StrCat(simulation.passes, " passes, ", simulation.events, " events")}};
  for (const auto& fact : facts) {
    absl::StrAppend(&text, fact[0], std::string(18 - fact[0].size(), ' '), fact[1], "\n");
  }
  for (const auto& [why, jobs] : Failures(simulation)) {
    absl::StrAppend(&text, jobs, jobs == 1 ? " job" : " jobs", " not completed: ", why, "\n");
  }
  const size_t all = f.by_size.size() + f.by_priority.size();
  absl::StrAppend(&text, WaitsTable("SIZE", f.by_size, all, bold));
  if (f.by_priority.size() > 1) {
    absl::StrAppend(&text, WaitsTable("PRIORITY", f.by_priority, all, bold));
  }
  return absl::StrCat(text, WaitsTable("USER", f.by_user, kUsersShown, bold));
}

std::string FiguresJson(const Figures& f, const Simulation& simulation) {
  Value::List failures;
  for (const auto& [why, jobs] : Failures(simulation)) {
    failures.emplace_back(Value::Object{{"reason", why}, {"jobs", jobs}});
  }
  const Value out = Value::Object{
      {"jobs", f.jobs},
      {"completed", f.completed},
      {"not_completed", std::move(failures)},
      {"slots", f.slots},
      {"offered_load", f.offered_load},
      {"window", absl::ToDoubleSeconds(f.window)},
      {"makespan", absl::ToDoubleSeconds(f.makespan)},
      {"utilisation",
       Value::Object{{"window", ToValue(f.in_window)}, {"makespan", ToValue(f.in_makespan)}}},
      {"waits", Value::Object{{"all", ToValue(f.all)},
                              {"by_size", ToValue(f.by_size)},
                              {"by_priority", ToValue(f.by_priority)},
                              {"by_user", ToValue(f.by_user)}}},
      {"preemptions", f.preemptions},
      {"lost_slot_hours", f.lost_slot_hours},
      {"fairness", f.fairness},
      {"passes", simulation.passes},
      {"events", simulation.events}};
  return out.ToJson() + "\n";
}

std::string JobsCsv(const Workload& workload, const Simulation& simulation) {
  std::string csv =
      "arrival,slots,length,user,priority,first_wait,waited,ended,preemptions,lost,completed\n";
  for (size_t i = 0; i < workload.size(); ++i) {
    const Job& job = workload[i];
    const JobRecord& record = simulation.jobs[i];
    const auto seconds = [](absl::Duration d) { return Fixed(absl::ToDoubleSeconds(d), 0); };
    const bool ran = !record.runs.empty();
    const std::vector<std::string> cells = {seconds(job.arrival),
                                            absl::StrCat(job.slots),
                                            seconds(job.length),
                                            job.user,
                                            absl::StrCat(job.priority),
                                            ran ? seconds(record.FirstWait(job)) : "",
                                            ran ? seconds(record.waited) : "",
                                            ran ? seconds(record.runs.back().end) : "",
                                            absl::StrCat(record.preemptions),
                                            seconds(record.lost),
                                            record.completed ? "true" : "false"};
    absl::StrAppend(&csv, absl::StrJoin(cells, ","), "\n");
  }
  return csv;
}

}  // namespace det::simulate
