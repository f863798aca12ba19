// A thin owner of SQLite handles: absl::Status for errors, prepared statements only.
#ifndef DDP_SERVER_STORE_SQLITE_H_
#define DDP_SERVER_STORE_SQLITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct sqlite3;
struct sqlite3_stmt;

namespace ddp {

class Statement;

// One connection. Not thread-safe: one thread, or the owner's mutex.
class Database {
 public:
  // Opens (makes) the file. WAL, synchronous=FULL, foreign keys on.
  static absl::StatusOr<Database> Open(const std::string& path);

  // Fixed statements without values (schema, BEGIN, PRAGMA).
  absl::Status Execute(const char* sql);
  // The statement must not outlive the database.
  absl::StatusOr<Statement> Prepare(std::string_view sql);
  // Rows changed by the last INSERT, UPDATE or DELETE.
  int64_t Changes() const;
  // False after an error that made SQLite roll back on its own.
  bool InTransaction() const;
  // Full disk and I/O errors -> ResourceExhausted, constraints -> AlreadyExists, a damaged file -> DataLoss, a lock ->
  // Unavailable, anything else -> Internal.
  absl::Status Error(int code, std::string_view doing) const;

 private:
  struct Closer {
    void operator()(sqlite3* db) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Closer> db_;
};

// A prepared statement, used again and again: Bind* from 1, Step, read columns from 0, Reset.
class Statement {
 public:
  Statement() = default;
  void BindInt(int index, int64_t value);
  void BindDouble(int index, double value);
  void BindText(int index, std::string_view value);
  void BindBlob(int index, std::string_view value);
  void BindNull(int index);
  // True: a row is ready; false: done.
  absl::StatusOr<bool> Step();
  // Steps to the end and resets, whatever the outcome.
  absl::Status Run();
  int64_t Int(int column) const;
  double Double(int column) const;
  // Valid until the next Step or Reset.
  std::string_view Bytes(int column) const;
  void Reset();

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database* db_ = nullptr;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_SQLITE_H_
