#include "master/store/postgres/connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include <libpq-fe.h>

namespace det::store {
namespace {

// Results are read after this many statements of a pipeline: if both sides only wrote, they would
// deadlock once the socket buffers are full.
constexpr size_t kPipelineDepth = 200;
constexpr char kOpenWriter[] = "INSERT INTO writers DEFAULT VALUES RETURNING id";
constexpr char kCloseWriter[] = "SELECT close_writer($1)";
// The server detects a lost connection as soon as the client does, and does not hold the locks of
// an interrupted transaction for hours.
constexpr char kSettings[] =
    "SET TimeZone = 'UTC'; SET extra_float_digits = 1; "
    "SET idle_in_transaction_session_timeout = '10s'; "
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3";

struct ClearResult {
  void operator()(PGresult* result) const { ::PQclear(result); }
};
using OwnedResult = std::unique_ptr<PGresult, ClearResult>;

// Transient errors: nothing was done, and the statement can be retried. The first column is a
// prefix of the SQLSTATE; longer prefixes come first.
struct TransientError {
  std::string_view code;
  std::string_view words;
};
constexpr TransientError kTransientErrors[] = {
    {"08", "the connection broke"},
    {"25006", "it is read-only or a replica"},
    {"25P03", "the transaction was idle for too long"},
    {"40001", "transactions conflicted"},
    {"40P01", "transactions conflicted"},
    {"53100", "its disk is full"},
    {"53200", "it is out of memory"},
    {"53300", "it has too many connections"},
    {"53", "it has insufficient resources"},
    {"55P03", "another session holds a lock"},
    {"57014", "the statement was canceled"},
    {"57P01", "it is shutting down"},
    {"57P02", "it crashed and is restarting"},
    {"57P03", "it is starting or stopping"},
    {"57P", "an operator intervened"},
    {"58030", "it has an I/O error"},
};

const TransientError* FindTransientError(std::string_view sqlstate) {
  for (const TransientError& error : kTransientErrors) {
    if (sqlstate.substr(0, error.code.size()) == error.code) return &error;
  }
  return nullptr;
}

std::string OneLine(std::string line) {
  absl::StripAsciiWhitespace(&line);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

template <class T>
T ParseNumber(std::string_view text) {
  T value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  DET_CHECK(parsed.ec == std::errc() && parsed.ptr == text.data() + text.size())
      << "the database answered " << text << " where a number was expected";
  return value;
}

// Parameters of a statement in libpq's form.
struct Pointers {
  explicit Pointers(const Params& params) {
    for (const Param& param : params) {
      values.push_back(param.value ? param.value->c_str() : nullptr);
      lengths.push_back(param.value ? static_cast<int>(param.value->size()) : 0);
      formats.push_back(param.binary ? 1 : 0);
    }
  }
  int size() const { return static_cast<int>(values.size()); }

  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
};

}  // namespace

void Result::Clear::operator()(pg_result* result) const { ::PQclear(result); }

int Result::rows() const { return ::PQntuples(result_.get()); }
int Result::columns() const { return ::PQnfields(result_.get()); }

bool Result::IsNull(int row, int column) const {
  return ::PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view Result::Text(int row, int column) const {
  return {::PQgetvalue(result_.get(), row, column),
          static_cast<size_t>(::PQgetlength(result_.get(), row, column))};
}

int64_t Result::Int(int row, int column) const { return ParseNumber<int64_t>(Text(row, column)); }
double Result::Double(int row, int column) const { return ParseNumber<double>(Text(row, column)); }

bool Result::Bool(int row, int column) const { return Text(row, column) == "t"; }

absl::Time Result::Time(int row, int column) const {
  const std::string_view text = Text(row, column);
  if (text == "Infinity") return absl::InfiniteFuture();
  if (text == "-Infinity") return absl::InfinitePast();
  return absl::FromUnixMicros(Int(row, column));
}

void Connection::Finish::operator()(pg_conn* connection) const { ::PQfinish(connection); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& connection_string) {
  // The first keywords are defaults that the connection string may override; the last ones override
  // it.
  const std::array<const char*, 7> keywords = {"connect_timeout",
                                               "tcp_user_timeout",
                                               "keepalives_idle",
                                               "application_name",
                                               "dbname",
                                               "client_encoding",
                                               nullptr};
  const std::array<const char*, 7> values = {
      "5", "10000", "10", "resolute-master", connection_string.c_str(), "UTF8", nullptr};
  std::unique_ptr<Connection> connection(
      new Connection(::PQconnectdbParams(keywords.data(), values.data(), /*expand_dbname=*/1)));
  PGconn* raw = connection->connection_.get();
  if (::PQstatus(raw) != CONNECTION_OK) {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the database: ", OneLine(::PQerrorMessage(raw))));
  }
  ::PQsetNoticeProcessor(
      raw, [](void*, const char*) {}, nullptr);
  DET_RETURN_IF_ERROR(connection->ExecScript(kSettings));
  return connection;
}

bool Connection::alive() const {
  return connection_ != nullptr && ::PQstatus(connection_.get()) == CONNECTION_OK;
}

absl::Status Connection::MakeError(const pg_result* result) {
  const char* code = result == nullptr ? nullptr : ::PQresultErrorField(result, PG_DIAG_SQLSTATE);
  sqlstate_ = code == nullptr ? "" : code;
  const char* primary =
      result == nullptr ? nullptr : ::PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string text = primary != nullptr ? absl::StrCat(primary, " (", sqlstate_, ")")
                                              : OneLine(::PQerrorMessage(connection_.get()));
  if (const TransientError* transient = FindTransientError(sqlstate_); transient != nullptr) {
    return absl::UnavailableError(
        absl::StrCat("the database: ", std::string(transient->words), ": ", text));
  }
  if (sqlstate_.empty()) {
    // Reported by libpq and not by the server: the connection is lost.
    Drop();
    return absl::UnavailableError(absl::StrCat("the database does not respond: ", text));
  }
  return absl::InternalError(absl::StrCat("the database rejected a statement: ", text));
}

absl::StatusOr<std::string> Connection::Prepare(std::string_view sql) {
  const auto it = prepared_.find(sql);
  if (it != prepared_.end()) return it->second;
  std::string name = absl::StrCat("s", prepared_.size());
  const std::string text(sql);
  const OwnedResult result(::PQprepare(connection_.get(), name.c_str(), text.c_str(), 0, nullptr));
  if (::PQresultStatus(result.get()) != PGRES_COMMAND_OK) return MakeError(result.get());
  prepared_.emplace(text, name);
  return name;
}

absl::StatusOr<Result> Connection::Exec(std::string_view sql, const Params& params) {
  return Exec(sql, params, /*binary=*/false);
}

absl::StatusOr<Result> Connection::ExecBinary(std::string_view sql, const Params& params) {
  return Exec(sql, params, /*binary=*/true);
}

absl::StatusOr<Result> Connection::Exec(std::string_view sql, const Params& params, bool binary) {
  DET_ASSIGN_OR_RETURN(const std::string name, Prepare(sql));
  const Pointers pointers(params);
  Result result(::PQexecPrepared(connection_.get(), name.c_str(), pointers.size(),
                                 pointers.values.data(), pointers.lengths.data(),
                                 pointers.formats.data(), binary ? 1 : 0));
  const ExecStatusType status = ::PQresultStatus(result.result_.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  return MakeError(result.result_.get());
}

absl::StatusOr<Result> Connection::ExecOnce(const std::string& sql, const Params& params) {
  const Pointers pointers(params);
  Result result(::PQexecParams(connection_.get(), sql.c_str(), pointers.size(), nullptr,
                               pointers.values.data(), pointers.lengths.data(),
                               pointers.formats.data(), 0));
  const ExecStatusType status = ::PQresultStatus(result.result_.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return result;
  return MakeError(result.result_.get());
}

absl::Status Connection::ExecScript(const std::string& sql) {
  const OwnedResult result(::PQexec(connection_.get(), sql.c_str()));
  const ExecStatusType status = ::PQresultStatus(result.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return absl::OkStatus();
  return MakeError(result.get());
}

absl::Status Connection::Send(const Statement& statement) {
  const Pointers pointers(statement.params);
  const std::string& name = prepared_.find(statement.sql)->second;
  const int sent = ::PQsendQueryPrepared(connection_.get(), name.c_str(), pointers.size(),
                                         pointers.values.data(), pointers.lengths.data(),
                                         pointers.formats.data(), 0);
  return sent == 1 ? absl::OkStatus() : MakeError(nullptr);
}

absl::Status Connection::Receive(size_t count, std::vector<Result>* results) {
  absl::Status first;
  for (size_t i = 0; i < count && alive(); ++i) {
    // The results of each statement end with a null.
    while (OwnedResult result{::PQgetResult(connection_.get())}) {
      const ExecStatusType status = ::PQresultStatus(result.get());
      const bool fine = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ||
                        status == PGRES_PIPELINE_ABORTED;
      if (!fine && first.ok()) first = MakeError(result.get());
      if (results != nullptr) results->emplace_back(result.release());
    }
  }
  if (!alive() && first.ok()) first = MakeError(nullptr);
  return first;
}

absl::Status Connection::Sync() {
  if (::PQpipelineSync(connection_.get()) != 1) return MakeError(nullptr);
  absl::Status first;
  while (alive()) {
    const OwnedResult result(::PQgetResult(connection_.get()));
    const ExecStatusType status = ::PQresultStatus(result.get());
    if (result != nullptr && status == PGRES_PIPELINE_SYNC) return first;
    if (result != nullptr && status == PGRES_FATAL_ERROR && first.ok()) {
      first = MakeError(result.get());
    }
  }
  return first.ok() ? MakeError(nullptr) : first;
}

absl::Status Connection::SendAll(const Statement* first, const Statement* last) {
  absl::Status sent;
  for (; first != last && sent.ok(); ++first) sent = Send(*first);
  if (sent.ok() && ::PQsendFlushRequest(connection_.get()) != 1) sent = MakeError(nullptr);
  // A sync would commit the statements sent so far.
  if (!sent.ok()) Drop();
  return sent;
}

absl::Status Connection::ExecAll(const std::vector<Statement>& statements, bool* is_unknown) {
  return ExecPipeline(statements, is_unknown, nullptr);
}

absl::StatusOr<std::vector<Result>> Connection::ExecTogether(
    const std::vector<Statement>& statements) {
  std::vector<Result> results;
  DET_RETURN_IF_ERROR(ExecPipeline(statements, nullptr, &results));
  return results;
}

absl::Status Connection::ExecPipeline(const std::vector<Statement>& statements, bool* is_unknown,
                                      std::vector<Result>* results) {
  for (const Statement& statement : statements) {
    DET_RETURN_IF_ERROR(Prepare(statement.sql).status());
  }
  if (::PQenterPipelineMode(connection_.get()) != 1) return MakeError(nullptr);
  absl::Status rejected;
  for (size_t begin = 0; begin < statements.size() && rejected.ok(); begin += kPipelineDepth) {
    const size_t end = std::min(begin + kPipelineDepth, statements.size());
    DET_RETURN_IF_ERROR(SendAll(statements.data() + begin, statements.data() + end));
    rejected = Receive(end - begin, results);
  }
  if (!alive()) return rejected;
  // The transaction ends here: with a commit, or with a rollback if a statement was rejected.
  const std::string sqlstate = sqlstate_;
  const absl::Status synced = Sync();
  if (!alive() && rejected.ok() && is_unknown != nullptr) *is_unknown = true;
  if (!alive() || ::PQexitPipelineMode(connection_.get()) != 1) Drop();
  if (rejected.ok()) return synced;
  sqlstate_ = sqlstate;
  return rejected;
}

absl::StatusOr<Connection::WriteId> Connection::NextWriteId() {
  if (last_write_id_.writer.empty()) {
    DET_ASSIGN_OR_RETURN(const Result opened, Exec(kOpenWriter));
    last_write_id_.writer = std::string(opened.Text(0, 0));
  }
  ++last_write_id_.number;
  return last_write_id_;
}

absl::StatusOr<bool> WasCommitted(Connection& connection, const Connection::WriteId& write_id) {
  DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kCloseWriter, {{write_id.writer}}));
  // If the earlier row is missing, so is this one: a lagging replica has taken over.
  return !result.IsNull(0, 0) && result.Int(0, 0) >= write_id.number;
}

}  // namespace det::store
