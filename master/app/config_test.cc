#include "master/app/config.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "base/file.h"
#include "gtest/gtest.h"

namespace det::app {
namespace {

std::variant<Config, BackupOrder, Exit> Parse(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "resolute-master");
  // Without --config, the master would read the files in /etc.
  const bool has_file = ::getenv("DET_CONFIG_FILE") != nullptr ||
                        std::any_of(flags.begin(), flags.end(), [](const std::string& flag) {
                          return flag.starts_with("--config");
                        });
  if (!has_file) flags.insert(flags.begin() + 1, {"--config", "/dev/null"});
  std::vector<char*> argv;
  for (std::string& word : flags) argv.push_back(word.data());
  return ParseFlags(static_cast<int>(argv.size()), argv.data());
}

Config Good(const std::vector<std::string>& flags) {
  const auto parsed = Parse(flags);
  EXPECT_TRUE(std::holds_alternative<Config>(parsed));
  const auto* config = std::get_if<Config>(&parsed);
  return config == nullptr ? Config() : *config;
}

bool IsRefused(const std::vector<std::string>& flags) {
  const auto parsed = Parse(flags);
  const auto* exit = std::get_if<Exit>(&parsed);
  return exit != nullptr && exit->code == 2;
}

TEST(ConfigTest, ReadsAdminPasswordFromFile) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/password";
  ASSERT_TRUE(base::WriteFileAtomically(file, "pass word\r\nmore\n", 0600).ok());
  EXPECT_EQ(Good({"--admin-password-file", file}).admin_password, "pass word");
  EXPECT_EQ(Good({"--admin-password", "flag"}).admin_password, "flag");
  EXPECT_EQ(Good({}).admin_password, "");
  EXPECT_TRUE(IsRefused({"--admin-password-file", file, "--admin-password", "flag"}));
  EXPECT_TRUE(IsRefused({"--admin-password-file", dir.path() + "/none"}));
  ASSERT_TRUE(base::WriteFileAtomically(file, "\n").ok());
  EXPECT_TRUE(IsRefused({"--admin-password-file", file}));
}

TEST(ConfigTest, PrintsUrlOnCheck) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/master.yaml";
  ASSERT_TRUE(base::WriteFileAtomically(file,
                                        "bind: 10.0.0.7\n"
                                        "security: {tls: {cert: c, key: k}}\n")
                  .ok());
  testing::internal::CaptureStdout();
  const auto parsed = Parse({"--config", file, "--check"});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "https://10.0.0.7:8443\n");
  ASSERT_TRUE(std::holds_alternative<Exit>(parsed));
  EXPECT_EQ(std::get<Exit>(parsed).code, 0);
  EXPECT_TRUE(IsRefused({"--check", "--tls-cert", "c"}));
}

TEST(ConfigTest, RequiresCertificateAndKeyForTls) {
  const Config config = Good({"--tls-cert", "c", "--tls-key", "k", "--tls-client-ca", "a"});
  EXPECT_EQ(config.tls_cert + config.tls_key + config.tls_client_ca, "cka");
  EXPECT_EQ(config.port, 8443);
  EXPECT_EQ(Good({}).port, 8080);
  EXPECT_EQ(Good({"--tls-cert", "c", "--tls-key", "k", "--port", "8080"}).port, 8080);
  EXPECT_TRUE(IsRefused({"--tls-cert", "c"}));
  EXPECT_TRUE(IsRefused({"--tls-key", "k"}));
  EXPECT_TRUE(IsRefused({"--tls-client-ca", "a"}));
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/master.yaml";
  ASSERT_TRUE(base::WriteFileAtomically(file,
                                        "security: {tls: {cert: c, key: k}}\n"
                                        "resource_manager: {client_ca: a}\n")
                  .ok());
  const Config read = Good({"--config", file});
  EXPECT_EQ(read.tls_cert + read.tls_key + read.tls_client_ca, "cka");
  EXPECT_EQ(read.port, 8443);
  ASSERT_TRUE(
      base::WriteFileAtomically(file, "port: 8080\nsecurity: {tls: {cert: c, key: k}}\n").ok());
  EXPECT_EQ(Good({"--config", file}).port, 8080);
  ASSERT_TRUE(base::WriteFileAtomically(file, "security: {tls: {cert: c}}\n").ok());
  EXPECT_TRUE(IsRefused({"--config", file}));
}

TEST(ConfigTest, ReadsDeterminedPasswordFromFile) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/password";
  ASSERT_TRUE(base::WriteFileAtomically(file, "pass word\n", 0600).ok());
  const Config read = Good({"--user-password-file", file});
  EXPECT_EQ(read.user_password, "pass word");
  EXPECT_EQ(read.admin_password, "");
  EXPECT_EQ(Good({"--user-password", "flag"}).user_password, "flag");
  EXPECT_TRUE(IsRefused({"--user-password-file", file, "--user-password", "flag"}));
  EXPECT_TRUE(IsRefused({"--user-password-file", dir.path() + "/none"}));
  ASSERT_EQ(::setenv("DET_USER_PASSWORD", "secret", 1), 0);
  EXPECT_EQ(Good({}).user_password, "secret");
  EXPECT_EQ(::getenv("DET_USER_PASSWORD"), nullptr);
}

TEST(ConfigTest, RejectsBlankPasswordsByDefault) {
  EXPECT_FALSE(Good({}).allow_blank_passwords);
  EXPECT_FALSE(Good({}).generate_passwords);
  EXPECT_TRUE(Good({"--allow-blank-passwords"}).allow_blank_passwords);
  EXPECT_TRUE(Good({"--make-passwords"}).generate_passwords);
}

TEST(ConfigTest, ReadsAndClearsPasswordFromEnvironment) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{}, {"--admin-password", "flag"}}) {
    ASSERT_EQ(::setenv("DET_ADMIN_PASSWORD", "secret", 1), 0);
    EXPECT_EQ(Good(flags).admin_password, flags.empty() ? "secret" : "flag");
    EXPECT_EQ(::getenv("DET_ADMIN_PASSWORD"), nullptr);
  }
}

TEST(ConfigTest, RequiresAbsoluteCheckpointRoots) {
  const std::vector<std::string> roots = {"/mnt/a", "/mnt/b"};
  EXPECT_EQ(Good({"--checkpoint-root", "/mnt/a", "--checkpoint-root", "/mnt/b"}).checkpoint_roots,
            roots);
  EXPECT_TRUE(IsRefused({"--checkpoint-root", "relative"}));
}

TEST(ConfigTest, OverridesFileWithFlags) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/master.yaml";
  ASSERT_TRUE(
      base::WriteFileAtomically(
          file,
          "port: 9090\ncluster_name: lab\nagent_reconnect_wait: 25\n"
          "checkpoint_roots: [/mnt/a, /mnt/b]\nlog: {json: true, level: error}\n"
          "security: {initial_user_password: file}\nresource_pools: [{pool_name: default}]\n")
          .ok());
  const Config read = Good({"--config", file});
  EXPECT_EQ(read.port, 9090);
  EXPECT_EQ(read.agent_reconnect_timeout, absl::Seconds(25));
  EXPECT_TRUE(read.log_json);
  EXPECT_EQ(read.admin_password, "file");
  EXPECT_EQ(read.user_password, "file");
  EXPECT_EQ(read.resource_pools.size(), 1u);
  EXPECT_EQ(read.data_dir, Good({}).data_dir);
  const Config over =
      Good({"--port", "1", "--config", file, "--checkpoint-root", "/c", "--agent-patience", "3",
            "--log-level", "debug", "--admin-password", "flag", "--data-dir", "/d"});
  EXPECT_EQ(over.port, 1);
  EXPECT_EQ(over.cluster_name, "lab");
  EXPECT_EQ(over.checkpoint_roots, std::vector<std::string>{"/c"});
  EXPECT_EQ(over.agent_reconnect_timeout, absl::Seconds(3));
  EXPECT_EQ(over.log_level, "debug");
  EXPECT_TRUE(over.log_json);
  EXPECT_EQ(over.admin_password, "flag");
  EXPECT_EQ(over.data_dir, "/d");
  ASSERT_EQ(::setenv("DET_ADMIN_PASSWORD", "environment", 1), 0);
  EXPECT_EQ(Good({"--config", file}).admin_password, "environment");
}

// Sets a variable during a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(ConfigTest, PrefersFlagsToVariablesToFile) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/master.yaml";
  ASSERT_TRUE(base::WriteFileAtomically(file,
                                        "port: 1\nbind: file\ncluster_name: file\n"
                                        "db: {host: file, name: file, user: file}\n")
                  .ok());
  const Variable path("DET_CONFIG_FILE", file);
  const Variable port("DET_PORT", "2");
  const Variable bind("DET_BIND", "variable");
  const Variable host("DET_DB_HOST", "variable");
  const Variable name("DET_DB_NAME", "variable");
  const Variable password("DET_DB_PASSWORD", "secret");
  const Config read = Good({"--port", "3", "--db-host", "flag"});
  EXPECT_EQ(read.port, 3);
  EXPECT_EQ(read.bind, "variable");
  EXPECT_EQ(read.cluster_name, "file");
  EXPECT_EQ(read.db_url, "port=5432 host='flag' user='file' password='secret' dbname='variable'");
  EXPECT_EQ(::getenv("DET_DB_PASSWORD"), nullptr) << "child processes would inherit it";
  EXPECT_EQ(Good({"--config", "/dev/null"}).cluster_name, "");
}

TEST(ConfigTest, ReadsVariablesAndFlagsOfDetermined) {
  const Variable user("DET_DB_USER", "u");
  const Variable port("DET_DB_PORT", "5433");
  const Variable host("DET_DB_HOST", "h");
  const Variable password("DET_SECURITY_INITIAL_USER_PASSWORD", "Secret123");
  const Config read =
      Good({"--config-file", "/dev/null", "--log-color", "--telemetry-enabled=false",
            "--security-tls-cert", "c", "--security-tls-key", "k", "--webhooks-base-url",
            "http://h", "--log-level", "error"});
  EXPECT_EQ(read.db_url, "port=5433 host='h' user='u'");
  EXPECT_EQ(read.admin_password, "Secret123");
  EXPECT_EQ(read.tls_cert + read.tls_key, "ck");
  EXPECT_EQ(read.port, 8443);
  EXPECT_EQ(read.webhook_base_url, "http://h");
  EXPECT_EQ(read.warnings.size(), 2u);
  EXPECT_TRUE(IsRefused({"--config-file", "/dev/null", "--db-port", "x"}));
}

TEST(ConfigTest, RequiresDbUrlForStandby) {
  EXPECT_TRUE(IsRefused({"--standby"}));
  EXPECT_TRUE(Good({"--standby", "--db-url", "postgresql://db/det"}).standby);
  EXPECT_FALSE(Good({"--db-url", "postgresql://db/det"}).standby);
}

TEST(ConfigTest, ParsesBackupAndRestore) {
  const auto backup = Parse({"backup", "/b/file", "--data-dir", "/d"});
  ASSERT_TRUE(std::holds_alternative<BackupOrder>(backup));
  EXPECT_FALSE(std::get<BackupOrder>(backup).restore);
  EXPECT_EQ(std::get<BackupOrder>(backup).file, "/b/file");
  EXPECT_EQ(std::get<BackupOrder>(backup).data_dir, "/d");
  const auto restore = Parse({"restore", "/b/file", "--replace"});
  ASSERT_TRUE(std::holds_alternative<BackupOrder>(restore));
  EXPECT_TRUE(std::get<BackupOrder>(restore).restore);
  EXPECT_TRUE(std::get<BackupOrder>(restore).replace);
  EXPECT_EQ(std::get<BackupOrder>(restore).data_dir, Good({}).data_dir);
  EXPECT_TRUE(IsRefused({"backup"}));
  EXPECT_TRUE(IsRefused({"backup", "/b/file", "--replace"}));
}

TEST(ConfigTest, BacksUpDataDirectoryOfFileAndVariable) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/master.yaml";
  ASSERT_TRUE(base::WriteFileAtomically(file, "data_dir: /file\n").ok());
  const auto data_dir = [](const std::vector<std::string>& flags) {
    const auto parsed = Parse(flags);
    const auto* order = std::get_if<BackupOrder>(&parsed);
    return order == nullptr ? "refused" : order->data_dir;
  };
  const Variable path("DET_CONFIG_FILE", file);
  EXPECT_EQ(data_dir({"backup", "/b/file"}), "/file");
  EXPECT_EQ(data_dir({"restore", "/b/file"}), "/file");
  EXPECT_EQ(data_dir({"backup", "/b/file", "--data-dir", "/flag"}), "/flag");
  const Variable variable("DET_DATA_DIR", "/variable");
  EXPECT_EQ(data_dir({"backup", "/b/file"}), "/variable");
  ASSERT_TRUE(base::WriteFileAtomically(file, "db: {url: \"postgresql://db/det\"}\n").ok());
  EXPECT_TRUE(IsRefused({"backup", "/b/file"})) << "the database is elsewhere";
}

TEST(ConfigTest, KeepsEmptyValueOfFlag) {
  EXPECT_EQ(Good({"--db-host", "h", "--db-user", "u", "--db-password", ""}).db_url,
            "port=5432 host='h' user='u'");
  EXPECT_TRUE(Good({"--security-authz-rbac-ui-enabled"}).authz.rbac_ui_enabled);
}

TEST(ConfigTest, RefusesFlagWithoutValue) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(IsRefused({"--db-password"}));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("value of --db-password"), text.npos) << text;
}

TEST(ConfigTest, SaysHowToStartWithoutFile_WhenItCannotBeRead) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(IsRefused({"--config", "/nonexistent/master.yaml"}));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("/nonexistent/master.yaml"), text.npos) << text;
  EXPECT_NE(text.find("--config /dev/null"), text.npos) << text;
}

TEST(ConfigTest, RejectsInvalidFile) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/master.yaml";
  EXPECT_TRUE(IsRefused({"--config", file}));
  ASSERT_TRUE(base::WriteFileAtomically(file, "prot: 1\n").ok());
  EXPECT_TRUE(IsRefused({"--config", file}));
}

}  // namespace
}  // namespace det::app

int main(int argc, char** argv) {
  // Variables of this machine would be settings.
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    if (variable.starts_with("DET_")) names.push_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
