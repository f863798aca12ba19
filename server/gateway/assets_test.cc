#include "server/gateway/assets.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

constexpr Asset kSome[] = {{.path = "/assets/index-DiwrgTda.js"}, {.path = "/index.html"}};

TEST(FindAssetTest, PageAddressesGetThePage) {
  for (const char* path : {"/", "/index.html", "/compare", "/jobs/0f9x", "/jobs/0123456789ab"}) {
    EXPECT_EQ(FindAsset(kSome, path), &kSome[1]) << path;
  }
  EXPECT_EQ(FindAsset(kSome, "/assets/index-DiwrgTda.js"), &kSome[0]);
}

TEST(FindAssetTest, AnythingElseIsNotFound) {
  for (const char* path : {"", "index.html", "//", "/jobs/", "/jobs/../token", "/jobs/a/b", "/jobs/0123456789abc",
                           "/assets/", "/assets/../index.html", "/INDEX.HTML", "/compare/"}) {
    EXPECT_EQ(FindAsset(kSome, path), nullptr) << path;
  }
}

TEST(DashboardAssetsTest, HasAPage) {
  const Asset* page = FindAsset(DashboardAssets(), "/");
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->type, "text/html; charset=utf-8");
  EXPECT_FALSE(page->immutable);
  EXPECT_EQ(page->etag.size(), 18u);
}

}  // namespace
}  // namespace ddp
