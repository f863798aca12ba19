#include "server/jobs/spec_checker.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "common/files.h"

namespace ddp {
namespace {

// Stands in for ddp-worker: a script in a folder of its own.
class SpecCheckerTest : public ::testing::Test {
 protected:
  SpecCheckerTest() {
    std::string name = ::testing::TempDir() + "/spec_checker_test.XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~SpecCheckerTest() override { std::filesystem::remove_all(folder_); }

  absl::StatusOr<v1::CheckResult> Check(const std::string& script) {
    const std::string worker = folder_ + "/worker";
    std::ofstream(worker) << "#!/bin/sh\ncd " << folder_ << "\n" << script;
    std::filesystem::permissions(worker, std::filesystem::perms::owner_all);
    v1::CheckRequest request;
    request.set_init_path("/parent");
    return WorkerSpecChecker(worker).Check(request);
  }

  std::string folder_;
};

TEST_F(SpecCheckerTest, AsksTheWorkerAndReadsItsAnswer) {
  v1::CheckResult right;
  right.add_notices("batch_size lowered");
  right.add_violations()->set_field("training.data.source");
  std::ofstream(folder_ + "/answer") << right.SerializeAsString();
  const auto got = Check("cat > request; echo \"$@ $OMP_NUM_THREADS\" > call; cat answer\n");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->SerializeAsString(), right.SerializeAsString());
  v1::CheckRequest request;
  ASSERT_TRUE(request.ParseFromString(*ReadFile(folder_ + "/request")));
  EXPECT_EQ(request.init_path(), "/parent");
  EXPECT_EQ(*ReadFile(folder_ + "/call"), "--check 1\n");
}

TEST_F(SpecCheckerTest, ACheckThatFailsIsAnErrorWithItsLastWords) {
  const auto failed = Check("cat > /dev/null; echo no such library >&2; exit 3\n");
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  const std::string text(failed.status().message());
  EXPECT_NE(text.find("exit code 3: no such library"), std::string::npos) << text;
}

TEST_F(SpecCheckerTest, LongLastWordsAreCut) {
  const auto failed = Check("cat > /dev/null; yes noise | head -c 20000 >&2; echo the cause >&2; exit 1\n");
  const std::string text(failed.status().message());
  EXPECT_LT(text.size(), 2000u);
  EXPECT_NE(text.find("the cause"), std::string::npos) << text;
}

TEST_F(SpecCheckerTest, AnAnswerThatIsNoneIsAnError) {
  EXPECT_EQ(Check("cat > /dev/null; echo hello\n").status().code(), absl::StatusCode::kInternal);
}

TEST_F(SpecCheckerTest, NoWorker) { EXPECT_FALSE(WorkerSpecChecker(folder_ + "/none").Check({}).ok()); }

}  // namespace
}  // namespace ddp
