#include "master/app/backup.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/status_macros.h"
#include "base/subprocess.h"
#include "master/app/data_dir.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/embedded_postgres.h"
#include "master/store/postgres/migrations.h"
#include "nlohmann/json.hpp"

namespace det::app {
namespace {

namespace fs = std::filesystem;

constexpr char kDump[] = "database.dump";
constexpr char kManifest[] = "manifest.json";
constexpr char kSums[] = "SHA256SUMS";
// Files besides the database that belong to the cluster.
constexpr const char* kTokens[] = {"admin.token", "agent.token"};

std::string Absolute(const std::string& path) {
  std::error_code error;
  return fs::absolute(path, error).lexically_normal().string();
}

// A folder that is removed with its contents.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  std::string operator/(const std::string& name) const { return absl::StrCat(path_, "/", name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Runs a program in `folder`; its output, kept in a file there, is the error message.
absl::Status RunIn(const Folder& folder, std::vector<std::string> argv,
                   const std::string& out = "output") {
  const std::string program = argv[0];
  base::SpawnOptions options;
  options.argv = std::move(argv);
  options.cwd = folder.path();
  options.env = {"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"};
  options.out = base::Redirect::File(folder / out);
  options.err = base::Redirect::File(folder / "output");
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child, base::Spawn(options));
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  if (exit.ok()) return absl::OkStatus();
  std::string output = base::ReadFile(folder / "output").value_or("");
  absl::StripAsciiWhitespace(&output);
  return absl::InternalError(absl::StrCat(program, " failed: ", output));
}

absl::StatusOr<std::string> FindProgram(const std::string& cluster, const char* name) {
  DET_ASSIGN_OR_RETURN(const std::string bin, store::FindServerPrograms(cluster));
  const std::string path = absl::StrCat(bin, "/", name);
  if (::access(path.c_str(), X_OK) == 0) return path;
  return absl::NotFoundError(
      absl::StrCat(path, " not found; run 'apt-get install postgresql-client'"));
}

bool HasDatabase(const std::string& data_dir) {
  return ::access((data_dir + "/postgres/PG_VERSION").c_str(), F_OK) == 0;
}

// ---- manifest ----

struct Manifest {
  std::string version;
  std::string cluster_id;
  absl::Time time;
  int64_t migration = 0;
  int64_t experiments = 0, trials = 0, checkpoints = 0;
};

absl::StatusOr<Manifest> MakeManifest(const std::string& connection_string) {
  DET_ASSIGN_OR_RETURN(const auto connection, store::Connection::Open(connection_string));
  const absl::StatusOr<store::Result> row = connection->Exec(
      "SELECT coalesce((SELECT value FROM properties WHERE key = 'cluster_id'), ''), "
      "(SELECT max(number) FROM schema_migrations), (SELECT count(*) FROM experiments), "
      "(SELECT count(*) FROM trials), (SELECT count(*) FROM checkpoints)");
  DET_RETURN_IF_ERROR(row.status());
  return Manifest{.version = base::kVersion,
                  .cluster_id = std::string(row->Text(0, 0)),
                  .time = absl::Now(),
                  .migration = row->Int(0, 1),
                  .experiments = row->Int(0, 2),
                  .trials = row->Int(0, 3),
                  .checkpoints = row->Int(0, 4)};
}

std::string ToText(const Manifest& manifest) {
  const nlohmann::json json = {{"version", manifest.version},
                               {"clusterId", manifest.cluster_id},
                               {"time", absl::FormatTime(manifest.time, absl::UTCTimeZone())},
                               {"migration", manifest.migration},
                               {"experiments", manifest.experiments},
                               {"trials", manifest.trials},
                               {"checkpoints", manifest.checkpoints}};
  return json.dump(2) + "\n";
}

absl::StatusOr<Manifest> ReadManifest(const std::string& path) {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* key) -> int64_t {
    return json.is_object() && json.contains(key) && json[key].is_number_integer()
               ? json[key].get<int64_t>()
               : -1;
  };
  const auto word = [&](const char* key) -> std::string {
    return json.is_object() && json.contains(key) && json[key].is_string()
               ? json[key].get<std::string>()
               : "";
  };
  Manifest manifest = {.version = word("version"),
                       .cluster_id = word("clusterId"),
                       .time = absl::InfinitePast(),
                       .migration = number("migration"),
                       .experiments = number("experiments"),
                       .trials = number("trials"),
                       .checkpoints = number("checkpoints")};
  std::string error;
  if (manifest.migration < 0 || manifest.version.empty() ||
      !absl::ParseTime(absl::RFC3339_full, word("time"), &manifest.time, &error)) {
    return absl::InvalidArgumentError("its manifest is unreadable");
  }
  return manifest;
}

std::string FormatManifest(const Manifest& manifest) {
  return absl::StrCat("cluster ", manifest.cluster_id, " as it was ",
                      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", manifest.time, absl::UTCTimeZone()),
                      ": ", manifest.experiments, " experiments, ", manifest.trials, " trials, ",
                      manifest.checkpoints, " checkpoints (version ", manifest.version, ")");
}

// ---- backup ----

// Connects to the database of a running cluster, or starts it.
struct Opened {
  std::optional<DataDir> lock;
  std::unique_ptr<store::EmbeddedPostgres> server;
  std::string connection_string;
};

absl::StatusOr<Opened> OpenDatabase(const std::string& data_dir) {
  Opened opened;
  absl::StatusOr<DataDir> lock = DataDir::Open(data_dir);
  if (lock.ok()) {
    opened.lock.emplace(*std::move(lock));
    DET_ASSIGN_OR_RETURN(opened.server, store::EmbeddedPostgres::Start({.data_dir = data_dir}));
    opened.connection_string = opened.server->connection_string();
  } else if (absl::IsFailedPrecondition(lock.status())) {  // a master runs
    opened.connection_string = store::EmbeddedPostgres::ConnectionString(data_dir);
  } else {
    return lock.status();
  }
  return opened;
}

// Creates a temporary folder beside `file`, so that the result can be renamed to it.
absl::StatusOr<Folder> MakeFolderBeside(const std::string& file) {
  std::string path = absl::StrCat(fs::path(file).parent_path().string(), "/.backup-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write to the folder of ", file));
  }
  return Folder(path);
}

// Renames the result to `file`, after fsync.
absl::Status Publish(const std::string& draft, const std::string& file) {
  const base::Fd fd(::open(draft.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fchmod(fd.get(), 0600) != 0 || ::fsync(fd.get()) != 0 ||
      ::rename(draft.c_str(), file.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", file));
  }
  const base::Fd folder(
      ::open(fs::path(file).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ::fsync(folder.get());
  return absl::OkStatus();
}

absl::Status FillFolder(const std::string& data_dir, const Folder& folder, const Opened& opened,
                        const Manifest& manifest) {
  DET_ASSIGN_OR_RETURN(const std::string pg_dump, FindProgram(data_dir + "/postgres", "pg_dump"));
  DET_RETURN_IF_ERROR(
      RunIn(folder, {pg_dump, "--format=custom", "--no-owner", absl::StrCat("--file=", kDump),
                     absl::StrCat("--dbname=", opened.connection_string)}));
  DET_RETURN_IF_ERROR(base::WriteFileAtomically(folder / kManifest, ToText(manifest), 0600));
  std::vector<std::string> sum = {"sha256sum", kDump, kManifest};
  for (const char* name : kTokens) {
    DET_ASSIGN_OR_RETURN(const std::string token,
                         base::ReadFile(absl::StrCat(data_dir, "/", name)));
    DET_RETURN_IF_ERROR(base::WriteFileAtomically(folder / name, token, 0600));
    sum.push_back(name);
  }
  return RunIn(folder, std::move(sum), kSums);
}

// ---- restore ----

// Unpacks the backup into `folder` and verifies it.
absl::StatusOr<Manifest> Unpack(const std::string& file, const Folder& folder) {
  const auto damaged = [&](const absl::Status& why) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, " is not a backup of a cluster, or is damaged: ", why.message()));
  };
  if (::access(file.c_str(), R_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", file));
  }
  const absl::Status unpacked =
      RunIn(folder, {"tar", "--extract", absl::StrCat("--file=", file), "--no-same-owner",
                     "--no-same-permissions", kSums, kManifest, kDump, kTokens[0], kTokens[1]});
  if (!unpacked.ok()) return damaged(unpacked);
  const absl::Status whole = RunIn(folder, {"sha256sum", "--check", "--quiet", "--strict", kSums});
  if (!whole.ok()) return damaged(whole);
  absl::StatusOr<Manifest> manifest = ReadManifest(folder / kManifest);
  if (!manifest.ok()) return damaged(manifest.status());
  return manifest;
}

// Restores the dump into a new database in `home`.
absl::Status FillDatabase(const Folder& folder, const std::string& home, const Manifest& manifest) {
  DET_ASSIGN_OR_RETURN(const auto server, store::EmbeddedPostgres::Start({.data_dir = home}));
  DET_ASSIGN_OR_RETURN(const std::string pg_restore, FindProgram(home + "/postgres", "pg_restore"));
  DET_RETURN_IF_ERROR(
      RunIn(folder, {pg_restore, "--no-owner", "--exit-on-error", "--single-transaction",
                     absl::StrCat("--dbname=", server->connection_string()), kDump}));
  DET_ASSIGN_OR_RETURN(const Manifest is, MakeManifest(server->connection_string()));
  if (is.cluster_id != manifest.cluster_id || is.migration != manifest.migration) {
    return absl::DataLossError("the restored database does not match its manifest");
  }
  DET_ASSIGN_OR_RETURN(const auto connection, store::Connection::Open(server->connection_string()));
  DET_RETURN_IF_ERROR(store::Migrate(*connection, store::AllMigrations()));
  return connection->ExecScript("SELECT leave_room()");
}

// Moves atomically, whether `to` exists or not.
absl::Status MoveInPlace(const std::string& from, const std::string& to) {
  const bool there = ::access(to.c_str(), F_OK) == 0;
  const int moved =
      ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), there ? RENAME_EXCHANGE : 0);
  if (moved == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot move the database to ", to));
}

absl::Status CheckRestore(const std::string& data_dir, const Manifest& manifest, bool replace) {
  const int known = store::AllMigrations().back().number;
  if (manifest.migration > known) {
    return absl::FailedPreconditionError(
        absl::StrCat("the backup was made by a newer master (version ", manifest.version,
                     ", migration ", manifest.migration, "; this one is ", base::kVersion,
                     " and knows ", known, "); install that version"));
  }
  if (replace || !HasDatabase(data_dir)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(data_dir,
                   " already contains a cluster; overwrite it with --replace, or choose another "
                   "directory with --data-dir"));
}

}  // namespace

absl::Status Backup(const std::string& given_dir, const std::string& given_file, Print print) {
  const std::string data_dir = Absolute(given_dir), file = Absolute(given_file);
  if (!HasDatabase(data_dir)) {
    return absl::NotFoundError(
        absl::StrCat("there is no cluster with an embedded database in ", data_dir,
                     "; choose another with --data-dir, and use pg_dump for an external "
                     "PostgreSQL (docs/backup.md)"));
  }
  DET_ASSIGN_OR_RETURN(const Folder folder, MakeFolderBeside(file));
  DET_ASSIGN_OR_RETURN(const Opened opened, OpenDatabase(data_dir));
  DET_ASSIGN_OR_RETURN(const Manifest manifest, MakeManifest(opened.connection_string));
  DET_RETURN_IF_ERROR(FillFolder(data_dir, folder, opened, manifest));
  DET_RETURN_IF_ERROR(RunIn(folder, {"tar", "--create", "--file=archive", kManifest, kSums,
                                     kTokens[0], kTokens[1], kDump}));
  DET_RETURN_IF_ERROR(Publish(folder / "archive", file));
  print(absl::StrCat("wrote ", file, ": ", FormatManifest(manifest)));
  return absl::OkStatus();
}

absl::Status Restore(const std::string& given_dir, const std::string& given_file, bool replace,
                     Print print) {
  const std::string data_dir = Absolute(given_dir), file = Absolute(given_file);
  DET_ASSIGN_OR_RETURN(const DataDir lock, DataDir::Open(data_dir));
  // Also removes the remains of a killed restore.
  const Folder folder(data_dir + "/restoring");
  std::error_code error;
  fs::remove_all(folder.path(), error);
  // PostgreSQL's user must be able to enter the folder.
  DET_RETURN_IF_ERROR(base::MakeDirs(folder.path(), 0711));
  const Folder files(folder / "files");
  DET_RETURN_IF_ERROR(base::MakeDirs(files.path(), 0700));
  DET_ASSIGN_OR_RETURN(const Manifest manifest, Unpack(file, files));
  print(absl::StrCat(file, " holds ", FormatManifest(manifest)));
  DET_RETURN_IF_ERROR(CheckRestore(data_dir, manifest, replace));
  const std::string home = folder / "data";
  DET_RETURN_IF_ERROR(FillDatabase(files, home, manifest));
  // A killed master leaves its server running on the old database.
  DET_RETURN_IF_ERROR(store::EmbeddedPostgres::StopLeftover(data_dir));
  DET_RETURN_IF_ERROR(MoveInPlace(home + "/postgres", data_dir + "/postgres"));
  for (const char* name : kTokens) {
    DET_ASSIGN_OR_RETURN(const std::string token, base::ReadFile(files / name));
    DET_RETURN_IF_ERROR(base::WriteFileAtomically(absl::StrCat(data_dir, "/", name), token, 0600));
  }
  print(absl::StrCat("restored into ", data_dir));
  return absl::OkStatus();
}

}  // namespace det::app
