// A store in a temporary folder with one job in it, for tests.
#ifndef DDP_SERVER_STORE_STORE_FIXTURE_H_
#define DDP_SERVER_STORE_STORE_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "server/store/store.h"

namespace ddp {

inline constexpr char kJob[] = "0aaaaaaaaaaa";

class StoreFixture : public ::testing::Test {
 protected:
  StoreFixture() {
    std::string name = ::testing::TempDir() + "/store_fixture.XXXXXX";
    folder_ = mkdtemp(name.data());
    Open();
    JobRecord record;
    record.job.set_id(kJob);
    WriteBatch batch;
    batch.PutJob(record);
    EXPECT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  ~StoreFixture() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  // Once more, after the one before has been closed.
  void Open() {
    store_.reset();
    store_ = std::move(Store::Open(folder_ + "/ddpd.db")).value();
  }

  std::string folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace ddp

#endif  // DDP_SERVER_STORE_STORE_FIXTURE_H_
