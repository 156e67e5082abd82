// Commands for experiments and trials: configs, contexts, checkpoints, logs, tables.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/testing/fake_server.h"
#include "cli/testing/run_det.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kExperiment[] = R"({"experiment":{"id":7,"name":"digits","state":"STATE_COMPLETED",
    "config":{"name":"yes","searcher":{"smaller_is_better":false,"metric":"accuracy"},
    "hyperparameters":{"lr":0.5,"layers":[1,2]},"labels":[]},"originalConfig":"name: 'yes' # mine"}})";
constexpr char kTrial[] = R"({"trial":{"id":4,"experimentId":7,"state":"STATE_COMPLETED"}})";
constexpr char kTrials[] =
    R"({"trials":[{"id":4,"experimentId":7,"state":"STATE_COMPLETED","hparams":{"lr":1}}]})";
constexpr char kWorkloads[] = R"({"workloads":[
    {"training":{"totalBatches":5,"metrics":{"avgMetrics":{"loss":0.5}}}},
    {"checkpoint":{"uuid":"c1","totalBatches":5}}],"pagination":{"total":2}})";

// Returns a checkpoint with one file "w" of two bytes, saved at `second`, with this metric.
std::string Saved(const std::string& uuid, const std::string& metric, int second) {
  return R"({"uuid":")" + uuid +
         R"(","state":"STATE_COMPLETED","size":"2","resources":{"w":"2"},)" +
         R"("reportTime":"2026-11-24T00:00:0)" + std::to_string(second) + R"(Z","training":)" +
         R"({"trialId":4,"searcherMetric":)" + metric + "}}";
}

std::string All() {
  return R"({"checkpoints":[)" + Saved("low", "0.1", 3) + "," + Saved("high", "0.9", 1) + "," +
         Saved("mid", "0.5", 2) + "]}";
}

// Returns the two bytes in base64.
std::string ChunkResponse() { return Chunked({"{\"result\":{\"chunk\":\"aGk=\"}}\n"}); }

std::string Message(const DetResult& result) { return std::string(result.code.status().message()); }

class ExperimentCommandsTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  bool Exists(const std::string& name) const { return std::filesystem::exists(Path(name)); }

  const base::TempDir folder_ = *base::TempDir::Create();
};

TEST_F(ExperimentCommandsTest, PrintsConfigAsYaml) {
  EXPECT_EQ(RunDet("e config 7", {kExperiment}).out,
            "hyperparameters:\n  layers:\n    - 1\n    - 2\n  lr: 0.5\nlabels: []\n"
            "name: \"yes\"\nsearcher:\n  metric: accuracy\n  smaller_is_better: false\n");
  EXPECT_EQ(RunDet("experiment config 7 --original", {kExperiment}).out, "name: 'yes' # mine\n");
  EXPECT_THAT(RunDet("e config 7 --json", {kExperiment}).out, HasSubstr("\"lr\": 0.5"));
}

TEST(ExperimentConfigTest, QuotesTextThatReadsAsAnotherType) {
  constexpr char kTexts[] = R"({"experiment":{"id":7,"config":{"data":{
      "a":"60_000","b":"0x1f","c":"0b11","d":"1e-3","e":".inf","f":"Null","g":"2024-01-31",
      "h":"no","i":"3 GPUs","j":"-x","0x10":"k"}}}})";
  EXPECT_EQ(RunDet("e config 7", {kTexts}).out,
            "data:\n  \"0x10\": k\n  a: \"60_000\"\n  b: \"0x1f\"\n  c: \"0b11\"\n"
            "  d: \"1e-3\"\n  e: \".inf\"\n  f: \"Null\"\n  g: \"2024-01-31\"\n"
            "  h: \"no\"\n  i: 3 GPUs\n  j: -x\n");
}

TEST_F(ExperimentCommandsTest, DownloadsContextAsArchive) {
  const DetResult result =
      RunDet("e download-model-def 7 -o " + Path("there"), {R"({"b64Tgz":"aGk="})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(result.out, Path("there/experiment_7_model_def.tgz\n"));
  EXPECT_EQ(*base::ReadFile(Path("there/experiment_7_model_def.tgz")), "hi");
  EXPECT_THAT(Message(RunDet("e download-model-def 7", {"{}"})),
              HasSubstr("without a context directory"));
}

TEST_F(ExperimentCommandsTest, DownloadsBestCheckpoints) {
  const DetResult result = RunDet("e download 7 --top-n 2 -o " + Path("best"),
                                  {kExperiment, All(), ChunkResponse(), ChunkResponse()});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(result.out, Path("best/high\n") + Path("best/mid\n"));
  EXPECT_EQ(*base::ReadFile(Path("best/high/w")), "hi");
  EXPECT_FALSE(Exists("best/low"));
  const DetResult least =
      RunDet("e download 7 --smaller-is-better true -o " + Path("least"), {All(), ChunkResponse()});
  EXPECT_EQ(least.out, Path("least/low\n"));
  EXPECT_THAT(Message(RunDet("e download 7 --sort-by f1", {kExperiment, All()})),
              HasSubstr("has no checkpoint with metric f1"));
  EXPECT_THAT(Message(RunDet("e download 7 --mode direct", {})), HasSubstr("auto or master"));
}

TEST_F(ExperimentCommandsTest, DownloadsCheckpointOfTrial) {
  EXPECT_EQ(
      RunDet("t download 4 -o " + Path("a"), {All(), kTrial, kExperiment, ChunkResponse()}).out,
      Path("a\n"));
  EXPECT_EQ(RunDet("t download 4 --latest -q -o " + Path("b"), {All(), ChunkResponse()}).out,
            Path("b\n"));
  EXPECT_THAT(
      RunDet("t download 4 --uuid mid -o " + Path("c"), {All(), ChunkResponse()}).requests.back(),
      HasSubstr("checkpoints/mid/"));
  EXPECT_THAT(Message(RunDet("t download 4 --uuid none", {All()})),
              HasSubstr("no such checkpoint"));
  EXPECT_THAT(Message(RunDet("t download 4 --uuid mid --best", {All()})),
              HasSubstr("give only one of"));
}

TEST_F(ExperimentCommandsTest, DescribesRanksAndRemovesCheckpoints) {
  const std::string one = R"({"checkpoint":)" + Saved("c1", "0.5", 1) + "}";
  const DetResult described = RunDet("checkpoint describe c1 c2", {one, one});
  EXPECT_THAT(described.out, AllOf(HasSubstr("c1"), HasSubstr("w      2 B")));
  EXPECT_THAT(described.requests, ElementsAre(HasSubstr("/c1"), HasSubstr("/c2")));
  const DetResult best = RunDet("e lc 7 --best 2 --csv", {All(), kExperiment});
  EXPECT_THAT(best.out, AllOf(HasSubstr("\nhigh,"), Not(HasSubstr("\nlow,"))));
  const DetResult thinned = RunDet("c rm c1,c2 --glob ** --yes", {"{}"});
  EXPECT_THAT(thinned.requests, ElementsAre(AllOf(HasSubstr(R"("checkpointGlobs":["**"])"),
                                                  HasSubstr(R"("checkpointUuids":["c1","c2"])"))));
  EXPECT_EQ(thinned.out, "deleting the files that match ** of 2 checkpoints\n");
  const DetResult refreshed = RunDet("c rm c1", {"{}"});
  EXPECT_EQ(refreshed.out, "compared 1 checkpoint with the storage\n");
  EXPECT_THAT(refreshed.requests, ElementsAre(HasSubstr(R"("checkpointGlobs":[])")));
  const DetResult some =
      RunDet("c rm c1 c2,c3 --glob opt* --glob code/** --yes", {R"({"unmatched":["c3"]})"});
  EXPECT_THAT(some.requests[0], HasSubstr(R"("checkpointGlobs":["opt*","code/**"])"));
  EXPECT_EQ(some.out, "deleting the files that match opt*, code/** of 2 checkpoints\n");
  EXPECT_THAT(some.err, HasSubstr("checkpoint c3 has no matching files"));
  EXPECT_TRUE(IsUsageError(RunDet("c rm , --yes", {}).code.status()));
}

TEST_F(ExperimentCommandsTest, CreatesExperimentWithoutContext) {
  const std::string config = ::testing::TempDir() + "alone.yaml";
  std::ofstream(config) << "name: x\n";
  const DetResult created = RunDet("e create " + config, {R"({"experiment":{"id":7}})"});
  EXPECT_EQ(created.out, "created experiment 7\n");
  EXPECT_THAT(created.requests, ElementsAre(HasSubstr(R"("modelDefinition":[],)")));
}

TEST_F(ExperimentCommandsTest, KillsManyExperiments) {
  const DetResult killed = RunDet(
      "e kill 3 5,7-8",
      {"{}", "{}",
       Answer("400 Bad Request", R"({"error":{"code":9,"error":"experiment 7 is over"}})"), "{}"});
  EXPECT_EQ(*killed.code, 1);
  EXPECT_EQ(killed.out, "killed experiment 3\nkilled experiment 5\nkilled experiment 8\n");
  EXPECT_THAT(killed.err, HasSubstr("det: experiment 7: experiment 7 is over"));
  for (const char* wrong :
       {"e kill 3-", "e kill 8-7", "e kill x", "e kill 0", "e kill ,", "e kill 1-20000"}) {
    const DetResult result = RunDet(wrong, {});
    EXPECT_THAT(Message(result), HasSubstr("EXPERIMENT")) << wrong;
    EXPECT_THAT(result.requests, IsEmpty());
  }
}

TEST_F(ExperimentCommandsTest, DescribesAsCsv) {
  const DetResult result =
      RunDet("e describe 7 --metrics --outdir " + Path("out"), {kExperiment, kTrials, kWorkloads});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_THAT(*base::ReadFile(Path("out/experiments.csv")), HasSubstr("\n7,digits,COMPLETED,"));
  EXPECT_THAT(*base::ReadFile(Path("out/trials.csv")), HasSubstr("\n7,4,COMPLETED,"));
  EXPECT_THAT(*base::ReadFile(Path("out/workloads.csv")),
              AllOf(HasSubstr("\n4,5,training,"), HasSubstr(",c1\n")));
  const DetResult two =
      RunDet("e describe 7,7 8 --csv", {kExperiment, kTrials, kExperiment, kTrials});
  EXPECT_THAT(two.out, HasSubstr("\n7,digits,COMPLETED,0,,,,\n7,digits"));
  EXPECT_THAT(RunDet("t describe 4 --csv", {kWorkloads}).out,
              HasSubstr("4,5,training,,loss=0.5,\n"));
}

constexpr char kTrialsWithPolicy[] =
    R"({"trials":[{"id":4,"experimentId":7,"hparams":{"lr":1},"logPolicyMatched":"CUDA OOM"},
                  {"id":5,"experimentId":7,"hparams":{"lr":2}}],"pagination":{"total":2}})";

TEST_F(ExperimentCommandsTest, WarnsWhenNoValidationHasTheSearcherMetric) {
  const std::string experiment =
      R"({"experiment":{"id":7,"searcherType":"single","searcherMetric":"loss"}})";
  const auto trials = [](const std::string& metrics) {
    return absl::StrCat(R"({"trials":[{"id":4,"latestValidation":{"metrics":{"avgMetrics":{)",
                        metrics, "}}}}]}");
  };
  EXPECT_THAT(RunDet("e describe 7", {experiment, trials(R"("acc":0.5,"auc":1)"), "{}"}).out,
              HasSubstr("no validation has the metric loss; they have acc, auc."));
  EXPECT_THAT(RunDet("e describe 7", {experiment, trials(R"("loss":0.5)"), "{}"}).out,
              Not(HasSubstr("no validation has the metric")));
  EXPECT_THAT(RunDet("e describe 7", {experiment, R"({"trials":[{"id":4}]})", "{}"}).out,
              Not(HasSubstr("no validation has the metric")));
}

TEST_F(ExperimentCommandsTest, ShowsLogPolicyThatMatched) {
  const std::string trial = R"({"trial":{"id":4,"experimentId":7,"logPolicyMatched":"CUDA OOM"}})";
  EXPECT_THAT(RunDet("t describe 4", {trial}).out, ContainsRegex("log policy +CUDA OOM\n"));
  EXPECT_THAT(RunDet("t describe 4 --json", {trial}).out,
              HasSubstr(R"("logPolicyMatched": "CUDA OOM")"));
  EXPECT_THAT(RunDet("t describe 4", {kTrial}).out, Not(HasSubstr("log policy")));
  for (const auto& [command, answers] : std::map<std::string, std::vector<std::string>>{
           {"e list-trials 7", {kTrialsWithPolicy}},
           {"e describe 7", {kExperiment, kTrialsWithPolicy, "{}"}}}) {
    const DetResult shown = RunDet(command, answers);
    EXPECT_THAT(shown.out, ContainsRegex("HYPERPARAMETERS +LOG POLICY")) << command;
    EXPECT_THAT(shown.out, ContainsRegex("lr=1 +CUDA OOM")) << command;
    EXPECT_THAT(shown.out, ContainsRegex("lr=2 +-")) << command;
  }
  EXPECT_THAT(RunDet("e list-trials 7", {kTrials}).out, Not(HasSubstr("LOG POLICY")));
}

TEST_F(ExperimentCommandsTest, HasLogPolicyColumnInCsvAlways) {
  for (const char* trials : {kTrials, kTrialsWithPolicy}) {
    const std::string policy = trials == kTrials ? "" : "CUDA OOM";
    const DetResult list = RunDet("e list-trials 7 --csv", {trials});
    EXPECT_THAT(list.out, HasSubstr("HYPERPARAMETERS,LOG POLICY\n"));
    EXPECT_THAT(list.out, HasSubstr(",lr=1," + policy + "\n"));
    const DetResult described = RunDet("e describe 7 --csv", {kExperiment, trials});
    EXPECT_THAT(described.out, HasSubstr("HYPERPARAMETERS,LOG POLICY\n"));
    EXPECT_THAT(described.out, HasSubstr(",lr=1," + policy + "\n"));
  }
}

TEST_F(ExperimentCommandsTest, ShowsMetricsThatAreNotFiniteNumbers) {
  const std::string metrics =
      R"({"loss":"NaN","acc":"Infinity","low":"-Infinity","per_class":[0.5,1],"f1":{"cat":0.25},"n":"x"})";
  const std::string trial =
      R"({"trial":{"id":4,"latestValidation":{"totalBatches":5,"metrics":)"
      R"({"avgMetrics":)" +
      metrics +
      R"(}},"summaryMetrics":{"g":{)"
      R"("loss":{"type":"number","count":2,"last":"NaN","mean":"NaN"},)"
      R"("acc":{"type":"number","count":1,"last":"Infinity","max":"Infinity"},)"
      R"("f1":{"type":"object","last":{"cat":0.25}},)"
      R"("none":{"type":"number","count":1,"last":null}}}}})";
  const std::string out = RunDet("t describe 4 --metrics-summary", {trial}).out;
  EXPECT_THAT(out, HasSubstr("acc=Infinity  f1.cat=0.25  loss=NaN  low=-Infinity  n=x  "
                             "per_class=[0.5,1]"));
  EXPECT_THAT(out, ContainsRegex("loss +2 +NaN +- +- +NaN"));
  EXPECT_THAT(out, ContainsRegex("acc +1 +Infinity +- +Infinity +-"));
  EXPECT_THAT(out, ContainsRegex("f1 +- +.\"cat\": ?0.25. +-"));
  EXPECT_THAT(out, ContainsRegex("none +1 +- +- +- +-"));
  const std::string workloads = R"({"workloads":[{"validation":{"totalBatches":5,"metrics":)"
                                R"({"avgMetrics":)" +
                                metrics + R"(}}}],"pagination":{"total":1}})";
  for (const DetResult& shown :
       {RunDet("t describe 4 --metrics", {workloads}),
        RunDet("e describe 7 --metrics", {kExperiment, kTrials, "{}", workloads})}) {
    EXPECT_THAT(shown.out, HasSubstr("acc=Infinity  f1.cat=0.25  loss=NaN"));
  }
}

TEST_F(ExperimentCommandsTest, SelectsLogLines) {
  const std::string lines = Chunked({R"({"result":{"id":"9","message":"nine"}})", "\n",
                                     R"({"result":{"id":"8","message":"eight"}})", "\n"});
  const DetResult tail = RunDet(
      "t logs 4 --tail 2 --level warning --rank-id 0 --rank-id 1 --agent-id a1 "
      "--allocation-id 7.4.0 --source task --stdtype stderr "
      "--timestamp-after 2026-11-24T00:00Z",
      {lines});
  ASSERT_TRUE(tail.code.ok()) << tail.code.status();
  EXPECT_LT(tail.out.find("eight"), tail.out.find("nine"));
  for (const char* part :
       {"limit=2", "orderBy=ORDER_BY_DESC", "levels=LOG_LEVEL_WARNING", "levels=LOG_LEVEL_CRITICAL",
        "rankIds=0", "rankIds=1", "agentIds=a1", "allocationIds=7.4.0", "sources=task",
        "stdtypes=stderr", "timestampAfter=2026-11-24"}) {
    EXPECT_THAT(tail.requests[0], HasSubstr(part));
  }
  EXPECT_THAT(tail.requests[0], Not(HasSubstr("LEVEL_INFO")));
  const DetResult followed = RunDet("t logs 4 --tail 2 -f", {lines, Chunked({})});
  EXPECT_THAT(followed.requests[1], AllOf(HasSubstr("afterId=9"), HasSubstr("follow=true"),
                                          Not(HasSubstr("limit")), Not(HasSubstr("orderBy"))));
  EXPECT_THAT(RunDet("task logs 7.4 --head 3", {Chunked({})}).requests[0],
              AllOf(HasSubstr("/api/v1/tasks/7.4/logs"), HasSubstr("limit=3")));
  EXPECT_THAT(Message(RunDet("t logs 4 --head 1 --tail 1", {})),
              HasSubstr("--head cannot be used with"));
  EXPECT_THAT(Message(RunDet("t logs 4 --level loud", {})), HasSubstr("expected trace, debug"));
  EXPECT_THAT(Message(RunDet("t logs 4 --rank-id -1", {})), HasSubstr("--rank-id"));
}

TEST_F(ExperimentCommandsTest, IncludesFilesInContext) {
  ASSERT_TRUE(base::MakeDirs(Path("context")).ok());
  ASSERT_TRUE(base::MakeDirs(Path("shared/sub")).ok());
  for (const char* name : {"job.yaml", "context/a", "extra.py", "shared/sub/b"}) {
    ASSERT_TRUE(base::WriteFileAtomically(Path(name), "name: x\n").ok());
  }
  const std::string create = "e create " + Path("job.yaml") + " " + Path("context");
  const DetResult result = RunDet(create + " -i " + Path("extra.py") + " -i " + Path("shared/"),
                                  {R"({"experiment":{"id":7}})"});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  for (const char* path : {"a", "extra.py", "shared", "shared/sub", "shared/sub/b"}) {
    EXPECT_THAT(result.requests[0], HasSubstr("\"path\":\"" + std::string(path) + "\""));
  }
  EXPECT_THAT(Message(RunDet(create + " -i " + Path("none"), {})), HasSubstr("none"));
  EXPECT_THAT(Message(RunDet(create + " -i " + Path("context/a"), {})),
              HasSubstr("is a duplicate path"));
}

TEST_F(ExperimentCommandsTest, WritesSupportBundle) {
  const DetResult result = RunDet("t support-bundle 4 -o " + Path("b"),
                                  {kTrial, kExperiment, kWorkloads,
                                   Chunked({R"({"result":{"id":"9","message":"nine"}})", "\n"})});
  ASSERT_TRUE(result.code.ok()) << result.code.status();
  EXPECT_EQ(result.out, Path("b/det-bundle-trial-4.tar.gz\n"));
  EXPECT_EQ(base::ReadFile(Path("b/det-bundle-trial-4.tar.gz"))->substr(0, 2), "\x1f\x8b");
}

TEST_F(ExperimentCommandsTest, ListsTasks) {
  const DetResult tasks =
      RunDet("task list --csv", {R"({"allocationIdToSummary":{"7.4.0":{"taskId":"7.4",
          "allocationId":"7.4.0","name":"digits","slotsNeeded":2,"priority":42,
          "resourcePool":"default"}}})"});
  EXPECT_THAT(tasks.out, HasSubstr("7.4,7.4.0,digits,2,,waiting,42,default\n"));
}

}  // namespace
}  // namespace det::cli
