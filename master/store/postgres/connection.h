// One connection to PostgreSQL, with its prepared statements. Everything is sent and received as
// text, except what Binary() wraps.
//
// Used by one thread at a time; blocks. Never retries: a connection that broke stays broken, and
// its owner opens another.
#ifndef MASTER_STORE_POSTGRES_CONNECTION_H_
#define MASTER_STORE_POSTGRES_CONNECTION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

struct pg_conn;
struct pg_result;

namespace det::store {

// A parameter of a statement ($1, $2, ...).
struct Param {
  std::optional<std::string> value;  // without: NULL
  bool binary = false;
};
using Params = std::vector<Param>;

// Rows that came back. Columns are numbered from 0. REQUIRES indices in range and, except in
// IsNull and Maybe, that the value is not NULL.
class Result {
 public:
  explicit Result(pg_result* result) : result_(result) {}

  int rows() const;
  int columns() const;
  bool IsNull(int row, int column) const;
  std::string_view Text(int row, int column) const;
  int64_t Int(int row, int column) const;
  double Double(int row, int column) const;
  bool Bool(int row, int column) const;
  // Of a value made by the database's function micros().
  absl::Time Time(int row, int column) const;

  template <class T>
  std::optional<T> Maybe(T (Result::*get)(int, int) const, int row, int column) const {
    return IsNull(row, column) ? std::nullopt : std::optional<T>((this->*get)(row, column));
  }

 private:
  friend class Connection;
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

class Connection {
 public:
  // UNAVAILABLE when nobody answers.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& connection_string);

  // One statement; prepared at its first use, so its text should be one of a few.
  absl::StatusOr<Result> Exec(std::string_view sql, const Params& params = {});
  // The same for bytea columns, whose bytes are then the result's Text.
  absl::StatusOr<Result> ExecBinary(std::string_view sql, const Params& params);

  // A statement of which there are as many as there are questions: planned for these parameters,
  // and not kept.
  absl::StatusOr<Result> ExecOnce(const std::string& sql, const Params& params);

  // Several statements without parameters, in one transaction.
  absl::Status ExecScript(const std::string& sql);

  struct Statement {
    std::string_view sql;
    Params params;
  };
  // All of them in one transaction, sent without waiting in between; their rows are dropped. After
  // UNAVAILABLE it is not known whether they were committed, unless `is_unknown` is given and false.
  absl::Status ExecAll(const std::vector<Statement>& statements, bool* is_unknown = nullptr);

  // By which a write on this connection is known afterwards, on any: it executes kRecordWriteId in its
  // transaction (WasCommitted). Numbers go up; the first call makes the connection's row.
  struct WriteId {
    std::string writer;
    int64_t number = 0;
  };
  absl::StatusOr<WriteId> NextWriteId();

  // Whether it can still be used.
  bool alive() const;

  // The code of the error of the last call that failed; empty if it had none.
  const std::string& sqlstate() const { return sqlstate_; }

 private:
  struct Finish {
    void operator()(pg_conn* connection) const;
  };
  explicit Connection(pg_conn* connection) : connection_(connection) {}

  absl::StatusOr<Result> Exec(std::string_view sql, const Params& params, bool binary);
  absl::StatusOr<std::string> Prepare(std::string_view sql);
  absl::Status Send(const Statement& statement);
  absl::Status SendAll(const Statement* first, const Statement* last);
  // Reads the answers of `count` statements of a pipeline; the first error.
  absl::Status Receive(size_t count);
  absl::Status Sync();
  // Ends the connection, and with it a transaction that must not go on.
  void Drop() { connection_.reset(); }
  absl::Status MakeError(const pg_result* result);

  std::unique_ptr<pg_conn, Finish> connection_;
  std::map<std::string, std::string, std::less<>> prepared_;  // by text: the name
  std::string sqlstate_;
  WriteId last_write_id_;  // the newest; its writer is empty before the first
};

// Of a write that marks itself. Parameters: the write_id's.
inline constexpr char kRecordWriteId[] = "SELECT mark($1, $2)";

// Whether the write of this write_id was made, which is in doubt because its connection broke before
// the answer came. If not it never will be. Waits for one that is still under way. UNAVAILABLE when
// the database cannot say.
absl::StatusOr<bool> WasCommitted(Connection& connection, const Connection::WriteId& write_id);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_CONNECTION_H_
