#include "server/store/store.h"

#include <future>

#include "absl/time/clock.h"
#include "common/status_macros.h"
#include "server/store/schema.h"
#include "server/telemetry.h"

namespace ddp {

absl::StatusOr<std::unique_ptr<Store>> Store::Open(const std::string& path) {
  DDP_ASSIGN_OR_RETURN(Database write_side, Database::Open(path));
  DDP_RETURN_IF_ERROR(MigrateSchema(write_side));
  DDP_ASSIGN_OR_RETURN(std::unique_ptr<Writer> writer, Writer::Make(std::move(write_side)));
  DDP_ASSIGN_OR_RETURN(Database read_side, Database::Open(path));
  DDP_ASSIGN_OR_RETURN(Database scans, Database::Open(path));
  DDP_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, Reader::Make(std::move(read_side), std::move(scans)));
  return std::unique_ptr<Store>(new Store(std::move(writer), std::move(reader)));
}

Store::Store(std::unique_ptr<Writer> writer, std::unique_ptr<Reader> reader)
    : writer_(std::move(writer)), reader_(std::move(reader)), thread_([this] { Run(); }) {}

Store::~Store() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Store::Commit(WriteBatch batch, Done done) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(batch), std::move(done)});
    ++telemetry.changes_waiting;
  }
  wake_.notify_one();
}

absl::Status Store::CommitAndWait(WriteBatch batch) {
  std::promise<absl::Status> result;
  Commit(std::move(batch), [&result](const absl::Status& status) { result.set_value(status); });
  return result.get_future().get();
}

std::vector<Store::Queued> Store::TakeGroup() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
  return std::exchange(queue_, {});
}

void Store::Run() {
  for (std::vector<Queued> group = TakeGroup(); !group.empty(); group = TakeGroup()) {
    std::vector<const WriteBatch*> batches;
    for (const Queued& queued : group) batches.push_back(&queued.batch);
    const absl::Time began = absl::Now();
    const std::vector<absl::Status> statuses = writer_->CommitGroup(batches);
    telemetry.store_commit.Observe(absl::Now() - began);
    telemetry.changes_waiting -= static_cast<int64_t>(group.size());
    for (const absl::Status& status : statuses) telemetry.store_errors += status.ok() ? 0 : 1;
    for (size_t i = 0; i < group.size(); ++i) group[i].done(statuses[i]);
  }
}

}  // namespace ddp
