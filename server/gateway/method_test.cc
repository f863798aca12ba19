#include "server/gateway/method.h"

#include <gtest/gtest.h>

#include "ddp/v1/job.pb.h"
#include "ddp/v1/runner.pb.h"

namespace ddp {
namespace {

TEST(FindWebMethodTest, PublicOnes) {
  // The services are known to the program that has linked their messages.
  v1::Job::descriptor();
  v1::RunnerHello::descriptor();
  ASSERT_TRUE(FindWebMethod("/ddp.v1.JobService/Get"));
  EXPECT_FALSE(FindWebMethod("/ddp.v1.JobService/Get")->streams);
  ASSERT_TRUE(FindWebMethod("/ddp.v1.JobService/Watch"));
  EXPECT_TRUE(FindWebMethod("/ddp.v1.JobService/Watch")->streams);
}

TEST(FindWebMethodTest, Others) {
  for (const char* path : {"", "/", "//", "ddp.v1.JobService/Get", "/ddp.v1.JobService", "/ddp.v1.JobService/", "/Get",
                           "/ddp.v1.JobService/get", "/ddp.v1.RunnerService/Attach", "/x/ddp.v1.JobService/Get",
                           "/ddp.v1.Job/Get", "/google.protobuf.Any/Get"}) {
    EXPECT_FALSE(FindWebMethod(path)) << path;
  }
}

}  // namespace
}  // namespace ddp
