// Settings of the agent outside of its flags: agent.yaml and DET_* variables, also by the names
// that agents of Determined have. Precedence: flag, variable, file, default. Used by main.cc once,
// before anything starts, and by the reference documentation.
#ifndef AGENT_SETTINGS_H_
#define AGENT_SETTINGS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::agent {

// The value of a setting.
struct Setting {
  std::string source;               // "agent.yaml:3", "DET_AGENT_ID", "--agent-id"
  std::vector<std::string> values;  // more than one only for lists
};
using Settings = std::map<std::string, Setting>;  // by key: "security.tls.master_cert"

// What the settings mean for the agent.
struct AgentOverrides {
  std::map<std::string, Setting> flags;        // by flag: "--id"; a switch has the value "true"
  std::map<std::string, std::string> proxies;  // variables to set: "https_proxy"
  std::vector<std::string> warnings;           // about settings without effect
};

// Where packages of Determined have the file.
inline constexpr char kDefaultAgentFile[] = "/etc/determined/agent.yaml";

// Reads the text of an agent.yaml. Null or an empty text is the same as an absent key.
// INVALID_ARGUMENT lists all problems, one line each, with file and line.
absl::StatusOr<Settings> ReadAgentFile(const std::string& text, const std::string& path);

// Returns the settings that the environment ("NAME=value" each) contains. An empty variable sets
// nothing.
Settings FindAgentVariables(const char* const* environment);

// Flags of Determined's agent that this agent has under another name: "--agent-id" by key.
std::map<std::string, std::string> GetOtherFlags();

// Whether the flag of a setting may be given without a value.
bool IsSwitch(const std::string& key);

// Returns what the settings mean. INVALID_ARGUMENT lists all problems.
absl::StatusOr<AgentOverrides> InterpretSettings(const Settings& settings);

// Generates docs/reference/agent-config.md.
std::string AgentConfigPage();

}  // namespace det::agent

#endif  // AGENT_SETTINGS_H_
