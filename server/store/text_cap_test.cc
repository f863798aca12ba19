#include "server/store/text_cap.h"

#include <gtest/gtest.h>

#include "server/store/store_fixture.h"

namespace ddp {
namespace {

class TextCapTest : public StoreFixture {
 protected:
  void Add(int64_t first, int64_t last, int attempt = 1, int64_t start_step = 0) {
    TextBatch texts{attempt, start_step, {}};
    for (int64_t step = first; step <= last; ++step) texts.texts.emplace_back().set_step(step);
    WriteBatch batch;
    batch.AddTexts(kJob, std::move(texts));
    ASSERT_TRUE(store_->CommitAndWait(std::move(batch)).ok());
  }
  std::vector<int64_t> Steps() {
    std::vector<int64_t> steps;
    const absl::Status status = store_->reader().ForEachText(kJob, "", 0, INT64_MAX, [&steps](const v1::Text& text) {
      steps.push_back(text.step());
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
    return steps;
  }
};

TEST_F(TextCapTest, TheEarliestGo) {
  Add(1, kMaxTexts);
  EXPECT_EQ(Steps().size(), 10000u);
  Add(kMaxTexts + 1, kMaxTexts + 1);
  const std::vector<int64_t> steps = Steps();
  EXPECT_EQ(steps.size(), 9000u);
  EXPECT_EQ(steps.front(), 1002);
  EXPECT_EQ(steps.back(), 10001);
}

TEST_F(TextCapTest, SupersededOnesGoFirst) {
  Add(1, kMaxTexts);
  Add(5001, 5002, /*attempt=*/2, /*start_step=*/5000);
  const std::vector<int64_t> steps = Steps();
  EXPECT_EQ(steps.size(), 5002u);
  EXPECT_EQ(steps.front(), 1);
}

}  // namespace
}  // namespace ddp
