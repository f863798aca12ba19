#include "server/metrics/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/metrics/query.h"
#include "server/store/store_fixture.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextsTest : public StoreFixture {
 protected:
  void Add(int32_t attempt, int64_t start_step, const std::string& series, int64_t step, const std::string& words) {
    TextBatch batch{attempt, start_step, {}};
    v1::Text& text = batch.texts.emplace_back();
    text.set_series(series);
    text.set_step(step);
    text.set_time(1000.5 + static_cast<double>(step));
    text.set_text(words);
    WriteBatch writes;
    writes.AddTexts(kJob, std::move(batch));
    ASSERT_TRUE(store_->CommitAndWait(std::move(writes)).ok());
  }
  absl::StatusOr<v1::QueryTextsResponse> Query(v1::QueryTextsRequest request, size_t max_bytes = kMaxTextBytes) {
    request.set_job_id(kJob);
    return QueryTexts(store_->reader(), request, max_bytes);
  }
  static std::vector<std::string> Words(const v1::QueryTextsResponse& response) {
    std::vector<std::string> words;
    for (const v1::Text& text : response.texts()) {
      EXPECT_EQ(text.time(), 1000.5 + static_cast<double>(text.step()));
      words.push_back(text.series() + " " + std::to_string(text.step()) + " " + text.text());
    }
    return words;
  }
};

TEST_F(TextsTest, TheMergedViewBySeriesAndStep) {
  Add(1, 0, "sample", 20, "b");
  Add(1, 0, "sample", 10, "a");
  Add(1, 0, "sample", 30, "superseded");
  Add(1, 0, "other", 5, "o");
  Add(2, 20, "sample", 30, "c");
  Add(2, 20, "sample", 30, "c again");  // by the same attempt: replaced
  Add(3, 30, "sample", 30, "at its start");
  EXPECT_THAT(Words(*Query({})), ElementsAre("other 5 o", "sample 10 a", "sample 20 b", "sample 30 at its start"));
  v1::QueryTextsRequest request;
  request.add_series("sample");
  request.set_from_step(20);
  request.set_to_step(29);
  EXPECT_THAT(Words(*Query(request)), ElementsAre("sample 20 b"));
}

TEST_F(TextsTest, LongOnesAreCutBetweenCharacters) {
  // 65,535 bytes and one character of two: the cut at 65,536 would split it.
  const std::string most(65535, 'x');
  Add(1, 0, "long", 1, most + "\xC3\xA4" + "rest");
  Add(1, 0, "fits", 1, std::string(65536, 'y'));
  const auto texts = Query({});
  ASSERT_TRUE(texts.ok()) << texts.status();
  EXPECT_EQ(texts->texts(0).text(), std::string(65536, 'y'));
  EXPECT_EQ(texts->texts(1).text(), most);
}

TEST_F(TextsTest, WrongRequestsNameTheField) {
  v1::QueryTextsRequest request;
  request.set_from_step(-1);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("from_step is -1"));
  request = {};
  request.set_to_step(-2);
  EXPECT_THAT(std::string(Query(request).status().message()), HasSubstr("to_step is -2"));
}

TEST_F(TextsTest, AnAnswerThatIsTooLargeIsRefused) {
  Add(1, 0, "s", 1, std::string(100, 'x'));
  // On the wire: series 3, step 2, time 9, text 102.
  EXPECT_TRUE(Query({}, 116).ok());
  EXPECT_EQ(Query({}, 115).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TextsTest, TheyAreListedAsSeries) {
  Add(1, 0, "sample", 10, "a");
  Add(1, 0, "sample", 20, "b");
  const auto list = ListSeries(store_->reader(), kJob);
  ASSERT_EQ(list->series_size(), 1);
  EXPECT_EQ(list->series(0).type(), v1::POINT_TYPE_TEXT);
  EXPECT_EQ(list->series(0).count(), 2);
  EXPECT_EQ(list->series(0).last_step(), 20);
}

}  // namespace
}  // namespace ddp
