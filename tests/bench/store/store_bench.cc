// Measures the rate at which the store writes log lines, metrics and commits, relative to a plain
// COPY of the same lines into a table with the same indexes in the same run. Prints one line per
// measurement.
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/file.h"
#include "master/store/postgres/embedded_postgres.h"
#include "master/store/postgres/postgres_store.h"
#include <libpq-fe.h>

namespace det::store {
namespace {

constexpr int kRows = 100'000;
constexpr int kBatch = 1000;
constexpr int kCallers = 8;
constexpr int kCommits = 300;

model::LogLine MakeLine(int caller, int64_t sequence) {
  model::LogLine line;
  line.task = model::TaskId(absl::StrCat("1.", caller));
  line.allocation = model::AllocationId(absl::StrCat("1.", caller, ".0"));
  line.agent = "agent-0";
  line.sequence = sequence;
  line.time = absl::FromUnixMillis(1'700'000'000'000 + sequence);
  line.rank = 0;
  line.stdtype = "stdout";
  line.source = "task";
  line.text = absl::StrCat("epoch 1 batch ", sequence, ": loss 0.123456 accuracy 0.9123");
  return line;
}

std::vector<model::LogLine> MakeLines(int caller, int first, int count) {
  std::vector<model::LogLine> lines;
  for (int i = 0; i < count; ++i) lines.push_back(MakeLine(caller, first + i + 1));
  return lines;
}

// Rows per second of `work`, which writes `rows`.
template <class Work>
double Rate(int rows, const Work& work) {
  const absl::Time start = absl::Now();
  work();
  return rows / absl::ToDoubleSeconds(absl::Now() - start);
}

double MeasureCopyRate(const std::string& connection_string) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(
      ::PQconnectdb(connection_string.c_str()), ::PQfinish);
  const auto run = [&](const char* sql) { ::PQclear(::PQexec(connection.get(), sql)); };
  run("CREATE TABLE bare (LIKE task_logs INCLUDING ALL)");
  return Rate(kRows, [&] {
    for (int batch = 0; batch < kRows / kBatch; ++batch) {
      run("COPY bare (task, allocation, agent, sequence, time, rank, level, stdtype, source, text) "
          "FROM STDIN");
      for (const model::LogLine& line : MakeLines(99, batch * kBatch, kBatch)) {
        const std::string row = absl::StrCat(
            line.task.value(), "\t", line.allocation.value(), "\t", line.agent, "\t", line.sequence,
            "\t", absl::FormatTime("%Y-%m-%d %H:%M:%E6S+00", line.time, absl::UTCTimeZone()),
            "\t0\t3\tstdout\ttask\t", line.text, "\n");
        DET_CHECK(::PQputCopyData(connection.get(), row.data(), static_cast<int>(row.size())) == 1);
      }
      DET_CHECK(::PQputCopyEnd(connection.get(), nullptr) == 1);
      while (PGresult* result = ::PQgetResult(connection.get())) {
        DET_CHECK(::PQresultStatus(result) == PGRES_COMMAND_OK);
        ::PQclear(result);
      }
    }
  });
}

double MeasureSequentialRate(Store& store) {
  return Rate(kRows, [&] {
    for (int batch = 0; batch < kRows / kBatch; ++batch) {
      DET_CHECK_OK(store.AddLogLines(MakeLines(0, batch * kBatch, kBatch)));
    }
  });
}

// Small concurrent writes, the use case of group commit.
double MeasureConcurrentRate(Store& store) {
  constexpr int kSmall = 20;
  return Rate(kRows, [&] {
    std::vector<std::thread> callers;
    for (int caller = 1; caller <= kCallers; ++caller) {
      callers.emplace_back([&store, caller] {
        for (int i = 0; i < kRows / kCallers / kSmall; ++i) {
          DET_CHECK_OK(store.AddLogLines(MakeLines(caller, i * kSmall, kSmall)));
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  });
}

double MeasureMetricRate(Store& store) {
  return Rate(kRows, [&] {
    for (int batch = 0; batch < kRows / kBatch; ++batch) {
      std::vector<model::MetricReport> reports(kBatch);
      for (int i = 0; i < kBatch; ++i) {
        reports[i].trial = model::TrialId(1);
        reports[i].group = "training";
        reports[i].steps_completed = batch * kBatch + i;
        reports[i].metrics = model::Value::Object{{"loss", 0.125}, {"accuracy", 0.5}};
      }
      DET_CHECK_OK(store.AddMetrics(reports));
    }
  });
}

double MeasureCommitRate(Store& store) {
  DET_CHECK_OK(store.Load());
  experiment::Trial trial;
  trial.id = model::TrialId(1);
  return Rate(kCommits, [&] {
    for (int i = 1; i <= kCommits; ++i) {
      trial.steps_completed = i;
      DET_CHECK_OK(store.Commit(i, {cluster::PutTrial{trial}}));
    }
  });
}

void Run() {
  auto dir = base::TempDir::Create("bench");
  DET_CHECK_OK(dir);
  // When run as root, the server runs as another user, which needs access.
  DET_CHECK(::chmod(dir->path().c_str(), 0755) == 0);
  const absl::Time start = absl::Now();
  auto postgres = EmbeddedPostgres::Start({.data_dir = dir->path()});
  DET_CHECK_OK(postgres);
  auto store = OpenPostgresStore((*postgres)->connection_string());
  DET_CHECK_OK(store);
  std::printf("embedded start with a new directory: %.2f s\n",
              absl::ToDoubleSeconds(absl::Now() - start));
  const double copy = MeasureCopyRate((*postgres)->connection_string());
  const auto print = [copy](const char* name, double rate) {
    std::printf("%s: %.0f rows/s, %.2f of COPY\n", name, rate, rate / copy);
  };
  print("plain COPY of log lines", copy);
  print("log lines, one caller", MeasureSequentialRate(**store));
  print("log lines, 8 callers of 20 lines", MeasureConcurrentRate(**store));
  print("metrics, one caller", MeasureMetricRate(**store));
  std::printf("sequential commits of one change: %.0f per s\n", MeasureCommitRate(**store));
  store->reset();
  const absl::Time stop = absl::Now();
  postgres->reset();
  postgres = EmbeddedPostgres::Start({.data_dir = dir->path()});
  DET_CHECK_OK(postgres);
  std::printf("embedded stop and start: %.2f s\n", absl::ToDoubleSeconds(absl::Now() - stop));
}

}  // namespace
}  // namespace det::store

int main() { det::store::Run(); }
