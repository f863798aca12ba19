// The one truth: $DDPD_HOME/ddpd.db, an SQLite file in WAL mode with synchronous=FULL.
//
// All writes go through one writer thread with group commit: what is queued while a transaction runs goes into the next
// one together, and each batch's callback is called after the commit. Reads go through Reader, on connections of its
// own. Ids and times are inputs; nothing here makes one. A full disk or an I/O error fails the batch with
// ResourceExhausted and leaves the file as it was; later batches are tried again.
#ifndef DDP_SERVER_STORE_STORE_H_
#define DDP_SERVER_STORE_STORE_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/reader.h"
#include "server/store/write_batch.h"
#include "server/store/writer.h"

namespace ddp {

// Thread-safe.
class Store {
 public:
  // Called on the writer thread; must not block and must not call CommitAndWait.
  using Done = std::function<void(const absl::Status&)>;

  // FailedPrecondition when the file is newer than this binary.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const std::string& path);
  // Commits what is still queued.
  ~Store();

  // Durable when `done` is called with OK. Batches are committed in the order of the calls.
  void Commit(WriteBatch batch, Done done);
  absl::Status CommitAndWait(WriteBatch batch);

  Reader& reader() { return *reader_; }

 private:
  struct Queued {
    WriteBatch batch;
    Done done;
  };
  Store(std::unique_ptr<Writer> writer, std::unique_ptr<Reader> reader);
  void Run();
  std::vector<Queued> TakeGroup() ABSL_LOCKS_EXCLUDED(mutex_);

  std::unique_ptr<Writer> writer_;  // of the writer thread
  std::unique_ptr<Reader> reader_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_STORE_H_
