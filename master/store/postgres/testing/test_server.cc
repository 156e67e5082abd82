#include "master/store/postgres/testing/test_server.h"

#include <sys/stat.h>

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "master/store/postgres/connection.h"

namespace det::store {
namespace {

template <class T>
T Checked(absl::StatusOr<T> result) {
  DET_CHECK_OK(result);
  return *std::move(result);
}

}  // namespace

TestServer& TestServer::Get() {
  static TestServer server;
  return server;
}

TestServer::TestServer() : dir_(Checked(base::TempDir::Create("pg"))) {
  // A server that root starts runs as another user, who needs access to the directory.
  DET_CHECK(::chmod(dir_.path().c_str(), 0755) == 0);
  postgres_ = Checked(EmbeddedPostgres::Start({.data_dir = dir_.path(), .fsync = false}));
}

std::string TestServer::MakeDatabase() {
  // An earlier test may have crashed the server, which is then restarting.
  auto opened = Connection::Open(postgres_->connection_string());
  while (absl::IsUnavailable(opened.status())) {
    opened = Connection::Open(postgres_->connection_string());
  }
  const auto connection = Checked(std::move(opened));
  const std::string name = absl::StrCat("test", ++databases_);
  DET_CHECK_OK(connection->ExecScript(absl::StrCat("CREATE DATABASE ", name)));
  return absl::StrCat(postgres_->connection_string(), " dbname=", name);
}

}  // namespace det::store
