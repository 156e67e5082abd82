#include "master/store/postgres/metric_rows.h"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/experiment/merge_report.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

constexpr char kStoredReports[] = R"sql(
SELECT trial, group_name, steps, run_id, m.metrics, m.batch, micros(m.time) FROM metrics m
JOIN unnest($1::int[], $2::text[], $3::bigint[], $4::int[]) k (trial, group_name, steps, run_id)
  USING (trial, group_name, steps, run_id)
ORDER BY trial, group_name, steps, run_id FOR UPDATE OF m)sql";
constexpr char kDeleteReport[] =
    "DELETE FROM metrics WHERE trial = $1 AND group_name = $2 AND steps = $3 AND run_id = $4";
constexpr char kSetMetrics[] =
    "UPDATE metrics SET metrics = $5 WHERE trial = $1 AND group_name = $2 AND steps = $3 "
    "AND run_id = $4";

// The primary key of a report.
using ReportKey = std::tuple<int64_t, std::string, int64_t, int64_t>;
ReportKey GetKey(const model::MetricReport& report) {
  return {report.trial.value(), report.group, report.steps_completed, report.run_id};
}
ReportKey ReadKey(const Result& result, int row) {
  return {result.Int(row, 0), std::string(result.Text(row, 1)), result.Int(row, 2),
          result.Int(row, 3)};
}

// The reports of one step, in order, by their places in the list.
using Places = std::map<ReportKey, std::vector<size_t>>;

// Inserts the reports that do not exist yet and returns their keys.
absl::StatusOr<std::set<ReportKey>> Insert(Connection& connection,
                                           const std::vector<const model::MetricReport*>& reports) {
  const Connection::Statement insert = InsertMetrics(reports);
  DET_ASSIGN_OR_RETURN(
      const Result inserted,
      connection.Exec(absl::StrCat(absl::string_view(insert.sql.data(), insert.sql.size()),
                                   " RETURNING trial, group_name, steps, run_id"),
                      insert.params));
  std::set<ReportKey> added;
  for (int row = 0; row < inserted.rows(); ++row) added.insert(ReadKey(inserted, row));
  return added;
}

// Reads and locks the stored reports with the keys of `places` that are not in `except`.
absl::StatusOr<std::map<ReportKey, model::MetricReport>> LockStored(
    Connection& connection, const Places& places, const std::set<ReportKey>& except,
    const std::vector<const model::MetricReport*>& reports) {
  std::map<ReportKey, model::MetricReport> stored;
  ArrayBuilder trials, groups, steps, runs;
  for (const auto& [key, members] : places) {
    if (except.contains(key)) continue;
    const model::MetricReport& report = *reports[members.front()];
    trials.Add(ToParam(report.trial));
    groups.Add(ToParam(report.group));
    steps.Add(ToParam(report.steps_completed));
    runs.Add(ToParam(report.run_id));
  }
  const Params keys = {std::move(trials).Finish(), std::move(groups).Finish(),
                       std::move(steps).Finish(), std::move(runs).Finish()};
  DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kStoredReports, keys));
  for (int row = 0; row < result.rows(); ++row) {
    const ReportKey key = ReadKey(result, row);
    model::MetricReport report = *reports[places.at(key).front()];
    DET_ASSIGN_OR_RETURN(report.metrics, ToValue(result, row, 4));
    report.batch_metrics = model::Value();
    if (!result.IsNull(row, 5)) {
      DET_ASSIGN_OR_RETURN(report.batch_metrics, ToValue(result, row, 5));
    }
    report.time = result.Time(row, 6);
    stored.emplace(key, std::move(report));
  }
  return stored;
}

// Replaces a stored report by `all`, which has the metrics `added` more. The row is inserted again
// with these alone, because triggers add what is inserted to the summaries.
absl::Status Replace(Connection& connection, const model::MetricReport& all,
                     model::Value::Object added) {
  Params key = MakeParams(all.trial, all.group, all.steps_completed, all.run_id);
  DET_RETURN_IF_ERROR(connection.Exec(kDeleteReport, key).status());
  model::MetricReport more = all;
  more.metrics = std::move(added);
  const Connection::Statement insert = InsertMetrics({&more});
  DET_RETURN_IF_ERROR(connection.Exec(insert.sql, insert.params).status());
  key.push_back(ToParam(all.metrics));
  return connection.Exec(kSetMetrics, key).status();
}

}  // namespace

absl::StatusOr<std::vector<AddedMetrics>> StoreReports(
    Connection& connection, const std::vector<const model::MetricReport*>& reports) {
  std::vector<AddedMetrics> results(reports.size());
  if (reports.empty()) return results;
  Places places;
  for (size_t i = 0; i < reports.size(); ++i) places[GetKey(*reports[i])].push_back(i);

  // Reports of the same step are one row.
  std::vector<const model::MetricReport*> rows;
  std::deque<model::MetricReport> merged;
  for (const auto& [key, members] : places) {
    rows.push_back(reports[members.front()]);
    if (members.size() == 1) continue;
    model::MetricReport& all = merged.emplace_back(*reports[members.front()]);
    rows.back() = &all;
    // A refused report adds nothing; its error is returned below.
    for (size_t i = 1; i < members.size(); ++i) {
      experiment::MergeReport(all, *reports[members[i]]).IgnoreError();
    }
  }
  DET_ASSIGN_OR_RETURN(const std::set<ReportKey> inserted, Insert(connection, rows));
  std::map<ReportKey, model::MetricReport> stored;
  if (inserted.size() < places.size()) {
    DET_ASSIGN_OR_RETURN(stored, LockStored(connection, places, inserted, reports));
  }

  for (const auto& [key, members] : places) {
    const auto existing = stored.find(key);
    const bool exists = existing != stored.end();
    if (!exists && !inserted.contains(key)) {
      for (const size_t i : members) {
        results[i] = absl::UnavailableError("the report was deleted meanwhile; try again");
      }
      continue;
    }
    if (!exists && members.size() == 1) {
      results[members[0]] = reports[members[0]]->metrics;  // the common case
      continue;
    }
    model::MetricReport all;
    if (exists) all = std::move(existing->second);
    const bool had_batches = exists && !all.batch_metrics.is_null();
    model::Value::Object added;
    for (const size_t i : members) {
      results[i] = experiment::MergeReport(all, *reports[i]);
      if (!results[i].ok()) continue;
      added.insert(results[i]->AsObject()->begin(), results[i]->AsObject()->end());
    }
    const bool adds_batches = !had_batches && !all.batch_metrics.is_null();
    if (exists && (!added.empty() || adds_batches)) {
      DET_RETURN_IF_ERROR(Replace(connection, all, std::move(added)));
    }
  }
  return results;
}

}  // namespace det::store
