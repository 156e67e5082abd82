#include "agent/settings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/edit_distance.h"
#include "base/status_macros.h"
#include "yaml-cpp/yaml.h"

namespace det::agent {
namespace {

enum class Use {
  kFlag,       // the value of a flag
  kSwitch,     // whether a flag is given
  kList,       // values of a flag that may be repeated
  kAddress,    // a part of the master's address
  kLevel,      // the log level
  kProxy,      // a proxy of tasks
  kMustBeOff,  // refused if it is true
  kIgnored,    // accepted with a warning, also with members
  kRefused,
};

struct Row {
  const char* key;
  Use use;
  const char* words;  // the flag; otherwise a description, or why it is ignored or refused
};

constexpr char kProcesses[] = "tasks run as processes, not in containers";
constexpr char kReconnects[] =
    "the agent reconnects until the master answers, and its tasks continue meanwhile";
constexpr char kNoServer[] =
    "the agent serves nothing; the client certificate is security.tls.client_cert";

// The documentation lists them in this order.
constexpr Row kRows[] = {
    {"master", Use::kFlag, "--master"},
    {"master_host", Use::kAddress, "host of the master, instead of `master`"},
    {"master_port", Use::kAddress, "port of the master; by default 80, with TLS 443"},
    {"security.tls.enabled", Use::kAddress, "whether the master at `master_host` has TLS"},
    {"security.tls.master_cert", Use::kFlag, "--tls-ca"},
    {"security.tls.master_cert_name", Use::kFlag, "--tls-master-name"},
    {"security.tls.client_cert", Use::kFlag, "--tls-cert"},
    {"security.tls.client_key", Use::kFlag, "--tls-key"},
    {"security.tls.skip_verify", Use::kMustBeOff,
     "the agent always verifies the master's certificate; set security.tls.master_cert"},
    {"agent_id", Use::kFlag, "--id"},
    {"resource_pool", Use::kFlag, "--pool"},
    {"token_file", Use::kFlag, "--token-file"},
    {"work_dir", Use::kFlag, "--work-dir"},
    {"slot_type", Use::kFlag, "--slot-type"},
    {"visible_gpus", Use::kFlag, "--visible-gpus"},
    {"artificial_slots", Use::kFlag, "--slots"},
    {"artificial_device", Use::kFlag, "--artificial-device"},
    {"artificial_islands", Use::kFlag, "--artificial-islands"},
    {"cpus", Use::kFlag, "--cpus"},
    {"memory", Use::kFlag, "--memory"},
    {"switch", Use::kFlag, "--switch"},
    {"labels", Use::kList, "--label"},
    {"address", Use::kFlag, "--address"},
    {"sdk_dir", Use::kFlag, "--sdk-dir"},
    {"python_dir", Use::kFlag, "--python-dir"},
    {"stop_grace", Use::kFlag, "--stop-grace"},
    {"stop_tasks", Use::kSwitch, "--stop-tasks"},
    {"log_spool_limit", Use::kFlag, "--log-spool-limit"},
    {"log.level", Use::kLevel, "`--log-level`; trace, warn and fatal are debug, warning and error"},
    {"log.json", Use::kSwitch, "--log-json"},
    {"log.color", Use::kIgnored, "log lines are never coloured"},
    {"debug", Use::kSwitch, "--verbose"},
    {"http_proxy", Use::kProxy, "proxy of tasks"},
    {"https_proxy", Use::kProxy, "proxy of tasks"},
    {"ftp_proxy", Use::kProxy, "proxy of tasks"},
    {"no_proxy", Use::kProxy, "hosts that tasks reach without a proxy"},
    {"config_file", Use::kIgnored, "the file is chosen with --config-file or $DET_CONFIG_FILE"},
    {"container_master_host", Use::kIgnored, "tasks use the address of the agent's master"},
    {"container_master_port", Use::kIgnored, "tasks use the address of the agent's master"},
    {"container_runtime", Use::kIgnored, kProcesses},
    {"container_auto_remove_disabled", Use::kIgnored, kProcesses},
    {"agent_reconnect_attempts", Use::kIgnored, kReconnects},
    {"agent_reconnect_backoff", Use::kIgnored, kReconnects},
    {"hooks", Use::kIgnored, kReconnects},
    {"api_enabled", Use::kIgnored, kNoServer},
    {"bind_ip", Use::kIgnored, kNoServer},
    {"bind_port", Use::kIgnored, kNoServer},
    {"tls", Use::kIgnored, kNoServer},
    {"tls_cert", Use::kIgnored, kNoServer},
    {"tls_key", Use::kIgnored, kNoServer},
    {"fluent", Use::kIgnored, "the agent sends the lines of tasks itself"},
    {"label", Use::kRefused, "was replaced; write labels: [KEY=VALUE]"},
    {"image_root", Use::kRefused, "was removed: tasks run as processes, not in containers"},
};

const Row* FindRow(absl::string_view key) {
  for (const Row& row : kRows) {
    const bool below =
        row.use == Use::kIgnored && absl::StartsWith(key, absl::StrCat(row.key, "."));
    if (key == row.key || below) return &row;
  }
  return nullptr;
}

bool IsSection(absl::string_view key) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return absl::StartsWith(row.key, absl::StrCat(key, "."));
  });
}

std::string DescribeUnknown(absl::string_view key) {
  const Row* nearest = nullptr;
  size_t best = 3;  // more edits are another word
  for (const Row& row : kRows) {
    const size_t distance = base::EditDistance({key.data(), key.size()}, row.key);
    if (distance >= best || row.use == Use::kRefused) continue;
    best = distance;
    nearest = &row;
  }
  return nearest != nullptr ? absl::StrCat("unknown field; did you mean ", nearest->key, "?")
                            : "unknown field; see docs/reference/agent-config.md";
}

std::string ToVariable(absl::string_view key) {
  return absl::StrCat("DET_", absl::AsciiStrToUpper(absl::StrReplaceAll(key, {{".", "_"}})));
}

std::optional<bool> ParseBool(const std::string& text) {
  const std::string word = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  for (const char* yes : {"true", "t", "yes", "y", "on", "1"}) {
    if (word == yes) return true;
  }
  for (const char* no : {"false", "f", "no", "n", "off", "0"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

// Reads a YAML document into settings.
class FileReader {
 public:
  explicit FileReader(std::string path) : path_(std::move(path)) {}

  void ReadMap(const YAML::Node& map, const std::string& prefix) {
    for (const auto& pair : map) {
      const std::string key = absl::StrCat(prefix, pair.first.Scalar());
      const std::string where = absl::StrCat(path_, ":", pair.first.Mark().line + 1);
      const YAML::Node& value = pair.second;
      const Row* row = FindRow(key);
      if (!seen_.emplace(key, where).second) {
        Add(where, key, absl::StrCat("duplicate key, first at ", seen_[key]));
      } else if (row == nullptr && !IsSection(key)) {
        Add(where, key, DescribeUnknown(key));
      } else if (value.IsNull() || (value.IsScalar() && value.Scalar().empty())) {
        continue;
      } else if (row == nullptr) {
        if (value.IsMap()) {
          ReadMap(value, key + ".");
        } else {
          Add(where, key, absl::StrCat("expected a map, found ", Describe(value)));
        }
      } else {
        ReadValue(*row, key, where, value);
      }
    }
  }

  absl::StatusOr<Settings> Finish() {
    if (problems_.empty()) return std::move(settings_);
    return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
  }

 private:
  static std::string Describe(const YAML::Node& value) {
    return value.IsScalar() ? absl::StrCat("\"", value.Scalar(), "\"")
           : value.IsMap()  ? "a map"
                            : "a list";
  }

  void Add(const std::string& where, const std::string& key, const std::string& text) {
    problems_.push_back(absl::StrCat(where, ": ", key, ": ", text));
  }

  void ReadValue(const Row& row, const std::string& key, const std::string& where,
                 const YAML::Node& value) {
    Setting setting{.source = where};
    if (row.use == Use::kIgnored || row.use == Use::kRefused) {
      // Whatever its value is.
    } else if (value.IsScalar()) {
      setting.values.push_back(value.Scalar());
    } else if (row.use != Use::kList) {
      return Add(where, key, absl::StrCat("expected one value, found ", Describe(value)));
    }
    for (const auto& item : value) {
      if (row.use != Use::kList) break;
      // {rack: r1} is the same as [rack=r1].
      const bool map = value.IsMap();
      const YAML::Node node = map ? item.second : static_cast<const YAML::Node&>(item);
      if (!node.IsScalar()) return Add(where, key, "expected a list of KEY=VALUE");
      setting.values.push_back(map ? absl::StrCat(item.first.Scalar(), "=", node.Scalar())
                                   : node.Scalar());
    }
    settings_[key] = std::move(setting);
  }

  std::string path_;
  std::map<std::string, std::string> seen_;
  Settings settings_;
  std::vector<std::string> problems_;
};

// Converts settings to flags.
class Interpreter {
 public:
  explicit Interpreter(const Settings& settings) : settings_(settings) {}

  absl::StatusOr<AgentOverrides> Run() {
    for (const auto& [key, setting] : settings_) Take(*FindRow(key), key, setting);
    SetAddress();
    if (problems_.empty()) return std::move(result_);
    return absl::InvalidArgumentError(absl::StrJoin(problems_, "\n"));
  }

 private:
  void Add(const std::string& key, const Setting& setting, absl::string_view text) {
    problems_.push_back(absl::StrCat(setting.source, ": ", key, ": ", text));
  }

  bool IsTrue(const std::string& key, const Setting& setting) {
    const std::optional<bool> value = ParseBool(setting.values.at(0));
    if (value) return *value;
    Add(key, setting, absl::StrCat("expected true or false, found \"", setting.values.at(0), "\""));
    return false;
  }

  void Take(const Row& row, const std::string& key, const Setting& setting) {
    const std::string text = setting.values.empty() ? "" : setting.values[0];
    switch (row.use) {
      case Use::kFlag:
        // 0 artificial slots have always meant that devices are detected.
        if (key == "artificial_slots" && text == "0") return;
        result_.flags[row.words] = setting;
        return;
      case Use::kList:
        result_.flags[row.words] = setting;
        return;
      case Use::kSwitch:
        if (IsTrue(key, setting)) result_.flags[row.words] = {setting.source, {"true"}};
        return;
      case Use::kLevel:
        return TakeLevel(key, setting);
      case Use::kProxy:
        result_.proxies[key] = text;
        return;
      case Use::kMustBeOff:
        if (IsTrue(key, setting)) Add(key, setting, row.words);
        return;
      case Use::kIgnored:
        result_.warnings.push_back(
            absl::StrCat(setting.source, ": ", key, ": without effect: ", row.words));
        return;
      case Use::kRefused:
        return Add(key, setting, row.words);
      case Use::kAddress:
        return;
    }
  }

  void TakeLevel(const std::string& key, const Setting& setting) {
    static const auto& levels = *new std::map<std::string, std::string>{
        {"trace", "debug"},     {"debug", "debug"}, {"info", "info"},   {"warn", "warning"},
        {"warning", "warning"}, {"error", "error"}, {"fatal", "error"}, {"critical", "error"}};
    const auto level = levels.find(absl::AsciiStrToLower(setting.values.at(0)));
    if (level != levels.end()) {
      result_.flags["--log-level"] = {setting.source, {level->second}};
    } else {
      Add(key, setting,
          absl::StrCat("expected one of debug, info, warning, error, found \"",
                       setting.values.at(0), "\""));
    }
  }

  // Flags override variables, which override the file.
  static int GetRank(const Setting& setting) {
    if (absl::StartsWith(setting.source, "--")) return 2;
    const bool variable = absl::StartsWith(setting.source, "DET_") &&
                          !absl::StrContains(setting.source, ":");  // FILE:LINE
    return variable ? 1 : 0;
  }

  void SetAddress() {
    const auto host = settings_.find("master_host");
    const auto master = settings_.find("master");
    if (host != settings_.end() && master != settings_.end() &&
        GetRank(master->second) > GetRank(host->second)) {
      return;
    }
    if (host == settings_.end()) {
      for (const char* key : {"master_port", "security.tls.enabled"}) {
        const auto found = settings_.find(key);
        if (found == settings_.end() || settings_.contains("master")) continue;
        Add(key, found->second, "applies to master_host, which is missing; set it or master");
      }
      return;
    }
    const auto tls_setting = settings_.find("security.tls.enabled");
    const bool tls =
        tls_setting != settings_.end() && IsTrue("security.tls.enabled", tls_setting->second);
    int port = 0;
    if (const auto found = settings_.find("master_port"); found != settings_.end()) {
      if (!absl::SimpleAtoi(found->second.values.at(0), &port) || port < 0 || port > 65535) {
        Add("master_port", found->second,
            absl::StrCat("expected a port from 0 to 65535, found \"", found->second.values.at(0),
                         "\""));
      }
    }
    if (port == 0) port = tls ? 443 : 80;
    result_.flags["--master"] = {
        host->second.source,
        {absl::StrCat(tls ? "https://" : "http://", host->second.values.at(0), ":", port)}};
  }

  const Settings& settings_;
  AgentOverrides result_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<Settings> ReadAgentFile(const std::string& text, const std::string& path) {
  YAML::Node root;
  try {
    root = YAML::Load(text);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.mark.line + 1, ": not valid YAML: ", error.msg));
  }
  if (root.IsNull()) return Settings();
  if (!root.IsMap()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": expected a map such as \"master_host: HOST\""));
  }
  FileReader reader(path);
  try {
    reader.ReadMap(root, "");
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", error.mark.line + 1, ": a key must be plain text"));
  }
  return reader.Finish();
}

Settings FindAgentVariables(const char* const* environment) {
  Settings settings;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    if (!absl::StartsWith(*entry, "DET_")) continue;
    const std::pair<std::string, std::string> variable =
        absl::StrSplit(*entry, absl::MaxSplits('=', 1));
    if (variable.second.empty() || variable.first == ToVariable("config_file")) continue;
    for (const Row& row : kRows) {
      if (variable.first != ToVariable(row.key)) continue;
      std::vector<std::string> values = {variable.second};
      if (row.use == Use::kList) {
        values = absl::StrSplit(variable.second, ',', absl::SkipWhitespace());
      }
      settings[row.key] = {variable.first, std::move(values)};
    }
  }
  return settings;
}

std::map<std::string, std::string> GetOtherFlags() {
  std::map<std::string, std::string> flags;
  for (const Row& row : kRows) {
    if (row.use == Use::kRefused) continue;
    flags[row.key] = absl::StrCat("--", absl::StrReplaceAll(row.key, {{".", "-"}, {"_", "-"}}));
  }
  return flags;
}

bool IsSwitch(const std::string& key) {
  const Row& row = *FindRow(key);
  return row.use == Use::kSwitch || row.use == Use::kMustBeOff || row.use == Use::kIgnored ||
         key == "security.tls.enabled";
}

absl::StatusOr<AgentOverrides> InterpretSettings(const Settings& settings) {
  return Interpreter(settings).Run();
}

std::string AgentConfigPage() {
  std::string page = R"(# Configuration of an agent

This page is generated from the table of settings in `agent/settings.cc` by
`bazel run //tools:agent_config_doc`; a test checks that it is current.

`resolute-agent` reads flags (`resolute-agent --help`), variables and one YAML file: that of `--config-file`,
else `$DET_CONFIG_FILE`, else `/etc/determined/agent.yaml` if it exists. A flag overrides a variable, and a
variable overrides the file. `null`, an empty text and an empty variable are the same as an absent key. If the
file has an unknown key or an invalid value, the agent reports all problems with their line, and does not start.
Agents that `det deploy local` starts read neither the file nor variables.

```yaml
master_host: master.example.org
master_port: 8080
token_file: /etc/determined/agent.token
resource_pool: gpus
visible_gpus: "0,1"
labels: {rack: r1}
```

| key | variable | effect |
|---|---|---|
)";
  for (const Row& row : kRows) {
    const bool flag = row.use == Use::kFlag || row.use == Use::kSwitch || row.use == Use::kList;
    const bool refused = row.use == Use::kRefused;
    const std::string effect =
        flag                         ? absl::StrCat("`", row.words, "`")
        : row.use == Use::kIgnored   ? absl::StrCat("*ignored, with a warning: ", row.words, "*")
        : refused                    ? absl::StrCat("refused: ", row.words)
        : row.use == Use::kMustBeOff ? absl::StrCat("`true` is refused: ", row.words)
                                     : row.words;
    absl::StrAppend(&page, "| `", row.key, "` | ",
                    refused ? "" : absl::StrCat("`", ToVariable(row.key), "`"), " | ", effect,
                    " |\n");
  }
  return page;
}

}  // namespace det::agent
