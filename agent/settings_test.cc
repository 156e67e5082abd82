#include "agent/settings.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// What the text of an agent.yaml means: "--flag value", "proxy=value" and "warning", one per line,
// or the error.
std::string Interpret(const std::string& yaml, const std::vector<const char*>& variables = {}) {
  absl::StatusOr<Settings> settings = ReadAgentFile(yaml, "agent.yaml");
  if (!settings.ok()) return std::string(settings.status().message());
  std::vector<const char*> environment = variables;
  environment.push_back(nullptr);
  for (const auto& [key, setting] : FindAgentVariables(environment.data())) {
    (*settings)[key] = setting;
  }
  const absl::StatusOr<AgentOverrides> read = InterpretSettings(*settings);
  if (!read.ok()) return std::string(read.status().message());
  std::string text;
  for (const auto& [flag, setting] : read->flags) {
    for (const std::string& value : setting.values) absl::StrAppend(&text, flag, " ", value, "\n");
  }
  for (const auto& [name, value] : read->proxies) absl::StrAppend(&text, name, "=", value, "\n");
  for (const std::string& warning : read->warnings) absl::StrAppend(&text, warning, "\n");
  return text;
}

// Every setting of Determined's agent, with its meaning here.
const std::vector<std::pair<const char*, const char*>>& DeterminedSettings() {
  static const auto& settings = *new std::vector<std::pair<const char*, const char*>>{
      {"master_host: m", "--master http://m:80\n"},
      {"{master_host: m, master_port: 8080}", "--master http://m:8080\n"},
      {"{master_host: m, master_port: '8080'}", "--master http://m:8080\n"},
      {"{master_host: m, security: {tls: {enabled: true}}}", "--master https://m:443\n"},
      {"{master_host: m, master_port: 0, security: {tls: {enabled: 'yes'}}}",
       "--master https://m:443\n"},
      {"agent_id: a", "--id a\n"},
      {"resource_pool: p", "--pool p\n"},
      {"container_master_host: h", "agent.yaml:1: container_master_host: without effect: tasks"},
      {"container_master_port: 1", "agent.yaml:1: container_master_port: without effect: tasks"},
      {"slot_type: cuda", "--slot-type cuda\n"},
      {"visible_gpus: '0,1'", "--visible-gpus 0,1\n"},
      {"visible_gpus: 0", "--visible-gpus 0\n"},
      {"artificial_slots: 3", "--slots 3\n"},
      {"artificial_slots: 0", ""},
      {"security: {tls: {skip_verify: false}}", ""},
      {"security: {tls: {skip_verify: true}}",
       "agent.yaml:1: security.tls.skip_verify: the agent always verifies the master's "
       "certificate; set security.tls.master_cert"},
      {"security: {tls: {master_cert: f}}", "--tls-ca f\n"},
      {"security: {tls: {master_cert_name: n}}", "--tls-master-name n\n"},
      {"security: {tls: {client_cert: c}}", "--tls-cert c\n"},
      {"security: {tls: {client_key: k}}", "--tls-key k\n"},
      {"log: {level: trace}", "--log-level debug\n"},
      {"log: {level: WARN}", "--log-level warning\n"},
      {"log: {color: true}", "agent.yaml:1: log.color: without effect: log lines are never"},
      {"http_proxy: p", "http_proxy=p\n"},
      {"https_proxy: p", "https_proxy=p\n"},
      {"ftp_proxy: p", "ftp_proxy=p\n"},
      {"no_proxy: p", "no_proxy=p\n"},
      {"agent_reconnect_attempts: 5", "agent.yaml:1: agent_reconnect_attempts: without effect"},
      {"agent_reconnect_backoff: '5'", "agent.yaml:1: agent_reconnect_backoff: without effect"},
      {"container_runtime: docker", "agent.yaml:1: container_runtime: without effect: tasks run"},
      {"container_auto_remove_disabled: no",
       "agent.yaml:1: container_auto_remove_disabled: without effect"},
      {"hooks: {on_connection_lost: [shutdown, now]}",
       "agent.yaml:1: hooks: without effect: the agent reconnects until the master answers"},
      {"debug: true", "--verbose true\n"},
      {"api_enabled: false", "agent.yaml:1: api_enabled: without effect: the agent serves nothing"},
      {"bind_ip: 0.0.0.0", "agent.yaml:1: bind_ip: without effect"},
      {"bind_port: 9090", "agent.yaml:1: bind_port: without effect"},
      {"tls: true", "agent.yaml:1: tls: without effect"},
      {"tls_cert: f",
       "agent.yaml:1: tls_cert: without effect: the agent serves nothing; "
       "the client certificate is security.tls.client_cert"},
      {"tls_key: f", "agent.yaml:1: tls_key: without effect"},
      {"fluent: {image: f, port: 1}", "agent.yaml:1: fluent: without effect"},
      {"config_file: f", "agent.yaml:1: config_file: without effect: the file is chosen with"},
      {"label: l", "agent.yaml:1: label: was replaced; write labels: [KEY=VALUE]"},
      {"image_root: r", "agent.yaml:1: image_root: was removed"},
  };
  return settings;
}

TEST(SettingsTest, AcceptsOrRefusesEverySettingOfDetermined) {
  for (const auto& [yaml, meaning] : DeterminedSettings()) {
    EXPECT_THAT(Interpret(yaml), StartsWith(meaning)) << yaml;
    if (*meaning == '\0') {
      EXPECT_EQ(Interpret(yaml), "") << yaml;
    }
  }
}

TEST(SettingsTest, ReadsVariables) {
  EXPECT_EQ(Interpret("", {"DET_MASTER_HOST=m", "DET_MASTER_PORT=8080", "DET_AGENT_ID=a",
                           "DET_RESOURCE_POOL=p", "DET_SLOT_TYPE=gpu", "DET_VISIBLE_GPUS=0,1",
                           "DET_SECURITY_TLS_ENABLED=true", "DET_SECURITY_TLS_MASTER_CERT=c",
                           "DET_LABELS=a=1,b=2", "DET_HTTP_PROXY=h", "DET_TOKEN_FILE=t",
                           "DET_LOG_LEVEL=INFO", "DET_USER=other", "DET_CONFIG_FILE=f",
                           "MASTER_HOST=x", "DET_WORK_DIR="}),
            "--id a\n--label a=1\n--label b=2\n--log-level info\n--master https://m:8080\n"
            "--pool p\n--slot-type gpu\n--tls-ca c\n--token-file t\n--visible-gpus 0,1\n"
            "http_proxy=h\n");
  EXPECT_EQ(Interpret("{agent_id: file, resource_pool: file}", {"DET_AGENT_ID=variable"}),
            "--id variable\n--pool file\n");
  EXPECT_THAT(Interpret("", {"DET_MASTER_PORT=x", "DET_MASTER_HOST=m"}),
              StartsWith("DET_MASTER_PORT: master_port: expected a port from 0 to 65535"));
}

TEST(SettingsTest, PrefersMasterOfVariable_WhenFileHasHost) {
  EXPECT_EQ(Interpret("master_host: m", {"DET_MASTER=http://v:1"}), "--master http://v:1\n");
  EXPECT_EQ(Interpret("master: http://f:1", {"DET_MASTER_HOST=v"}), "--master http://v:80\n");
}

TEST(SettingsTest, TakesEmptyAndNullAsAbsent) {
  for (const char* yaml :
       {"", "# comment\n", "agent_id:\n", "security:\n", "{security: {tls: null}}", "labels:\n",
        "labels: []", "visible_gpus: ~", "visible_gpus: ''", "{http_proxy: '', no_proxy: ''}",
        "master_host: ''", "slot_type: ''", "labels: ''", "debug: ''", "log: {level: ''}"}) {
    EXPECT_EQ(Interpret(yaml), "") << yaml;
  }
}

TEST(SettingsTest, ReadsListsAndMapsOfLabels) {
  EXPECT_EQ(Interpret("labels: [rack=1, kind=a]"), "--label rack=1\n--label kind=a\n");
  EXPECT_EQ(Interpret("labels: {kind: a, rack: 1}"), "--label kind=a\n--label rack=1\n");
  EXPECT_EQ(Interpret("labels: rack=1"), "--label rack=1\n");
}

TEST(SettingsTest, ReportsAllProblemsWithTheirLines) {
  EXPECT_EQ(Interpret("agent_idd: a\n"
                      "agent_id: [a]\n"
                      "security: x\n"
                      "log:\n"
                      "  level: {a: b}\n"
                      "resource_pool: a\n"
                      "resource_pool: b\n"
                      "nothing_like_it: 1\n"),
            "agent.yaml:1: agent_idd: unknown field; did you mean agent_id?\n"
            "agent.yaml:2: agent_id: expected one value, found a list\n"
            "agent.yaml:3: security: expected a map, found \"x\"\n"
            "agent.yaml:5: log.level: expected one value, found a map\n"
            "agent.yaml:7: resource_pool: duplicate key, first at agent.yaml:6\n"
            "agent.yaml:8: nothing_like_it: unknown field; see docs/reference/agent-config.md");
  EXPECT_THAT(Interpret("debug: maybe"),
              HasSubstr("debug: expected true or false, found \"maybe\""));
  EXPECT_THAT(Interpret("log: {level: loud}"), HasSubstr("expected one of debug, info, warning"));
  EXPECT_THAT(Interpret("master_port: 1"), HasSubstr("master_host, which is missing"));
  EXPECT_THAT(Interpret("- a"), HasSubstr("expected a map"));
  EXPECT_THAT(Interpret("a: ["), HasSubstr("not valid YAML"));
}

TEST(SettingsTest, NamesFlagsOfDetermined) {
  const std::map<std::string, std::string> flags = GetOtherFlags();
  EXPECT_EQ(flags.at("master_host"), "--master-host");
  EXPECT_EQ(flags.at("security.tls.master_cert_name"), "--security-tls-master-cert-name");
}

TEST(SettingsTest, OnlySwitchesMayOmitTheirValue) {
  for (const char* key :
       {"debug", "log.json", "security.tls.enabled", "security.tls.skip_verify", "api_enabled"}) {
    EXPECT_TRUE(IsSwitch(key)) << key;
  }
  for (const char* key : {"master_host", "agent_id", "http_proxy", "log.level", "labels"}) {
    EXPECT_FALSE(IsSwitch(key)) << key;
  }
}

TEST(SettingsTest, MatchesDocumentation) {
  const auto page = base::ReadFile("docs/reference/agent-config.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, AgentConfigPage())
      << "run: bazel run //tools:agent_config_doc > docs/reference/agent-config.md";
  const size_t begin = page->find("```yaml\n") + 8;
  EXPECT_THAT(Interpret(page->substr(begin, page->find("```", begin) - begin)),
              HasSubstr("--master http://master.example.org:8080\n"));
}

}  // namespace
}  // namespace det::agent
