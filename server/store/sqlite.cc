#include "server/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace ddp {
namespace {

absl::StatusCode CodeOf(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kAlreadyExists;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

void Database::Closer::operator()(sqlite3* db) const { sqlite3_close_v2(db); }

absl::StatusOr<Database> Database::Open(const std::string& path) {
  Database database;
  database.path_ = path;
  sqlite3* raw = nullptr;
  // NOMUTEX: each connection has one thread (or its owner's mutex) anyway.
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  database.db_.reset(raw);
  if (code != SQLITE_OK) return database.Error(code, "opening");
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, 5000);
  DDP_RETURN_IF_ERROR(database.Execute("PRAGMA journal_mode=WAL"));
  DDP_RETURN_IF_ERROR(database.Execute("PRAGMA synchronous=FULL"));
  DDP_RETURN_IF_ERROR(database.Execute("PRAGMA foreign_keys=ON"));
  return database;
}

absl::Status Database::Execute(const char* sql) {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, sql);
}

absl::StatusOr<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(db_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return Error(code, sql);
  Statement statement;
  statement.db_ = this;
  statement.statement_.reset(raw);
  return statement;
}

int64_t Database::Changes() const { return sqlite3_changes64(db_.get()); }

bool Database::InTransaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

absl::Status Database::Error(int code, std::string_view doing) const {
  const char* detail = db_ != nullptr ? sqlite3_errmsg(db_.get()) : sqlite3_errstr(code);
  return absl::Status(CodeOf(code), absl::StrCat(path_, ": ", detail, " (", std::string(doing), ")"));
}

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::BindInt(int index, int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }

void Statement::BindDouble(int index, double value) { sqlite3_bind_double(statement_.get(), index, value); }

void Statement::BindText(int index, std::string_view value) {
  sqlite3_bind_text64(statement_.get(), index, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::BindBlob(int index, std::string_view value) {
  // An empty view may hold a null pointer, which SQLite would take for NULL.
  sqlite3_bind_blob64(statement_.get(), index, value.empty() ? "" : value.data(), value.size(), SQLITE_TRANSIENT);
}

void Statement::BindNull(int index) { sqlite3_bind_null(statement_.get(), index); }

absl::StatusOr<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return db_->Error(code, sqlite3_sql(statement_.get()));
}

absl::Status Statement::Run() {
  absl::StatusOr<bool> row = Step();
  while (row.ok() && *row) row = Step();
  Reset();
  return row.status();
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }

double Statement::Double(int column) const { return sqlite3_column_double(statement_.get(), column); }

std::string_view Statement::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Statement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
}

}  // namespace ddp
