#include "server/gateway/limits.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(WebConnectionsFor, HalfOfTheOpenFilesAndNeverMoreThanTheLimit) {
  EXPECT_EQ(WebConnectionsFor(256), 128u);
  EXPECT_EQ(WebConnectionsFor(1024), 512u);
  EXPECT_EQ(WebConnectionsFor(8191), 4095u);
  EXPECT_EQ(WebConnectionsFor(8192), 4096u);
  EXPECT_EQ(WebConnectionsFor(uint64_t{1} << 40), 4096u);
}

}  // namespace
}  // namespace ddp
