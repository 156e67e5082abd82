// A PostgreSQL server for the tests of one program: started when it is first asked for, in a
// temporary folder, without fsync, and ended with the program.
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

  // A new, empty database; the connection string for it.
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
