// A PostgreSQL server for the tests of one program: started on first use, in a temporary folder,
// without fsync, and stopped with the program.
#ifndef MASTER_STORE_POSTGRES_TESTING_TEST_SERVER_H_
#define MASTER_STORE_POSTGRES_TESTING_TEST_SERVER_H_

#include <memory>
#include <string>

#include "base/file.h"
#include "master/store/postgres/embedded_postgres.h"

namespace det::store {

class TestServer {
 public:
  static TestServer& Get();

  // Creates an empty database and returns its connection string.
  std::string MakeDatabase();
  int pid() const { return postgres_->pid(); }

 private:
  TestServer();

  base::TempDir dir_;
  std::unique_ptr<EmbeddedPostgres> postgres_;
  int databases_ = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_TESTING_TEST_SERVER_H_
