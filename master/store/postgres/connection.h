// One connection to PostgreSQL, with its prepared statements. Everything is sent and received as
// text, except what Binary() wraps.
//
// Used by one thread at a time; blocks. Never reconnects: a broken connection stays broken, and its
// owner opens another.
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
  std::optional<std::string> value;  // nullopt: NULL
  bool binary = false;
};
using Params = std::vector<Param>;

// The rows of a result. Columns are numbered from 0. REQUIRES indices in range and, except in
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
  // Reads a value returned by the SQL function micros().
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
  // UNAVAILABLE if the server cannot be reached.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& connection_string);

  // Executes one statement. It is prepared on first use, so the program should use a limited number
  // of texts.
  absl::StatusOr<Result> Exec(std::string_view sql, const Params& params = {});
  // Like Exec, for bytea columns, whose bytes are the result's Text.
  absl::StatusOr<Result> ExecBinary(std::string_view sql, const Params& params);

  // Executes a statement whose text depends on the request: planned for these parameters, not
  // prepared.
  absl::StatusOr<Result> ExecOnce(const std::string& sql, const Params& params);

  // Executes several statements without parameters in one transaction.
  absl::Status ExecScript(const std::string& sql);

  struct Statement {
    std::string_view sql;
    Params params;
  };
  // Executes all statements in one transaction, pipelined, and discards their rows. After
  // UNAVAILABLE their outcome is unknown, unless `is_unknown` is given and false.
  absl::Status ExecAll(const std::vector<Statement>& statements, bool* is_unknown = nullptr);

  // Executes statements in one round trip and one transaction. Returns their results, in order; if
  // one fails, its error.
  absl::StatusOr<std::vector<Result>> ExecTogether(const std::vector<Statement>& statements);

  // Identifies a write, so that any connection can find out later whether it was committed
  // (WasCommitted). The write executes kRecordWriteId in its transaction. Numbers increase; the
  // first call inserts the connection's row.
  struct WriteId {
    std::string writer;
    int64_t number = 0;
  };
  absl::StatusOr<WriteId> NextWriteId();

  // Whether the connection can still be used.
  bool alive() const;

  // The SQLSTATE of the last call that failed; empty if it had none.
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
  // Reads the results of `count` statements of a pipeline and appends them to `results`, which may
  // be null; returns the first error.
  absl::Status Receive(size_t count, std::vector<Result>* results);
  // ExecAll and ExecTogether.
  absl::Status ExecPipeline(const std::vector<Statement>& statements, bool* is_unknown,
                            std::vector<Result>* results);
  absl::Status Sync();
  // Closes the connection, which also aborts its transaction.
  void Drop() { connection_.reset(); }
  absl::Status MakeError(const pg_result* result);

  std::unique_ptr<pg_conn, Finish> connection_;
  std::map<std::string, std::string, std::less<>> prepared_;  // statement text -> name
  std::string sqlstate_;
  WriteId last_write_id_;  // the last one; its writer is empty before the first
};

// Stores a WriteId within a transaction. Parameters: writer, number.
inline constexpr char kRecordWriteId[] = "SELECT mark($1, $2)";

// Returns whether a write was committed whose connection broke before the response arrived. If it
// was not, it never will be. Waits for a transaction that is still in progress. UNAVAILABLE if the
// database cannot be queried.
absl::StatusOr<bool> WasCommitted(Connection& connection, const Connection::WriteId& write_id);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_CONNECTION_H_
