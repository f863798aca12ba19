// The tables of ddpd.db and the numbered steps that lead to them.
#ifndef DDP_SERVER_STORE_SCHEMA_H_
#define DDP_SERVER_STORE_SCHEMA_H_

#include "absl/status/status.h"
#include "server/store/sqlite.h"

namespace ddp {

// The newest schema this binary knows.
int SchemaVersion();

// Brings the file to SchemaVersion(), one transaction per step: after a crash it is at a whole step. FailedPrecondition
// when the file is newer than this binary.
absl::Status MigrateSchema(Database& database);

}  // namespace ddp

#endif  // DDP_SERVER_STORE_SCHEMA_H_
