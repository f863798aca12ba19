#include "common/host_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

TEST(HostPortTest, Good) {
  const auto v4 = ParseHostPort("--listen", "127.0.0.1:80");
  ASSERT_TRUE(v4.ok());
  EXPECT_EQ(v4->host, "127.0.0.1");
  EXPECT_EQ(v4->port, 80);
  EXPECT_TRUE(v4->is_loopback());
  EXPECT_EQ(v4->ToString(), "127.0.0.1:80");
  const auto v6 = ParseHostPort("--listen", "[::1]:0");
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v6->host, "::1");
  EXPECT_TRUE(v6->is_loopback());
  EXPECT_EQ(v6->ToString(), "[::1]:0");
  EXPECT_TRUE(ParseHostPort("--listen", "localhost:1")->is_loopback());
  EXPECT_FALSE(ParseHostPort("--listen", "0.0.0.0:65535")->is_loopback());
  EXPECT_FALSE(ParseHostPort("--listen", "[::]:1")->is_loopback());
}

TEST(HostPortTest, Bad) {
  for (const char* text :
       {"", "80", ":80", "host", "host:", "host:x", "host:-1", "host:65536", "::1:80", "[host]:80"}) {
    const auto result = ParseHostPort("--web", text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(std::string(result.status().message()), std::string("--web must be HOST:PORT, got \"") + text + "\"");
  }
}

}  // namespace
}  // namespace ddp
