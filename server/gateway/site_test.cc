#include "server/gateway/site.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

bool Good(const Site& site, const char* host, const char* origin = nullptr) {
  return site.Check(host, origin == nullptr ? std::nullopt : std::optional<std::string_view>(origin)).ok();
}

TEST(SiteTest, LoopbackNames) {
  const Site site(false, 8080, {});
  EXPECT_TRUE(Good(site, "127.0.0.1:8080"));
  EXPECT_TRUE(Good(site, "localhost:8080"));
  EXPECT_TRUE(Good(site, "LocalHost:8080"));
  EXPECT_TRUE(Good(site, "[::1]:8080"));
  for (const char* host : {"", "localhost", "localhost:80", "127.0.0.1", "127.0.0.2:8080", "evil.example:8080",
                           "localhost:8080.evil.example", "localhost:8080 ", "::1:8080", "0.0.0.0:8080"}) {
    EXPECT_FALSE(Good(site, host)) << host;
  }
  EXPECT_FALSE(site.Check(std::nullopt, std::nullopt).ok());
}

TEST(SiteTest, Origins) {
  const Site site(false, 8080, {});
  EXPECT_TRUE(Good(site, "localhost:8080", "http://localhost:8080"));
  EXPECT_TRUE(Good(site, "localhost:8080", "HTTP://LOCALHOST:8080"));
  for (const char* origin : {"", "null", "http://evil.example", "http://127.0.0.1:8080", "http://localhost",
                             "http://localhost:8081", "http://localhost:8080/", "file://localhost:8080"}) {
    EXPECT_FALSE(Good(site, "localhost:8080", origin)) << origin;
  }
}

TEST(SiteTest, GivenNames) {
  const Site site(true, 8443, {"Lab.Example", "train.example:9000", "[2001:db8::1]"});
  EXPECT_TRUE(Good(site, "lab.example", "https://lab.example"));
  EXPECT_TRUE(Good(site, "lab.example:8443"));
  EXPECT_TRUE(Good(site, "train.example:9000"));
  EXPECT_TRUE(Good(site, "[2001:db8::1]:8443"));
  EXPECT_TRUE(Good(site, "localhost:8443"));
  EXPECT_FALSE(Good(site, "lab.example:9000"));
  EXPECT_FALSE(Good(site, "train.example"));
  EXPECT_FALSE(Good(site, "train.example:8443"));
  EXPECT_FALSE(Good(site, "lab.example", "http://lab.example"));  // with TLS, a page without it is another site
}

TEST(SiteTest, TheDefaultPortIsLeftOutByBrowsers) {
  EXPECT_TRUE(Good(Site(true, 443, {}), "localhost", "https://localhost"));
  EXPECT_TRUE(Good(Site(false, 80, {}), "127.0.0.1", "http://127.0.0.1"));
  EXPECT_FALSE(Good(Site(false, 443, {}), "localhost"));
}

}  // namespace
}  // namespace ddp
