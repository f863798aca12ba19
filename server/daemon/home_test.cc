#include "server/daemon/home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace ddp {
namespace {

using std::filesystem::perms;
using ::testing::HasSubstr;

class HomeTest : public ::testing::Test {
 protected:
  HomeTest() {
    std::string name = ::testing::TempDir() + "/home_test.XXXXXX";
    root_ = mkdtemp(name.data());
    home_ = root_ + "/home";
  }
  ~HomeTest() override { std::filesystem::remove_all(root_); }
  std::string root_;
  std::string home_;
};

TEST_F(HomeTest, ModesAndToken) {
  std::string token;
  {
    const auto home = Home::Open(home_);
    ASSERT_TRUE(home.ok()) << home.status();
    token = home->token();
    EXPECT_EQ(token.size(), 64u);
    EXPECT_EQ(std::filesystem::status(home_).permissions(), perms::owner_all);
    EXPECT_EQ(std::filesystem::status(home_ + "/token").permissions(), perms::owner_read | perms::owner_write);
    ASSERT_TRUE(home->PublishAddress("127.0.0.1:5", "http://127.0.0.1:6").ok());
    EXPECT_EQ(*ReadFile(home_ + "/address"), "127.0.0.1:5\n");
    EXPECT_EQ(*ReadFile(home_ + "/web-address"), "http://127.0.0.1:6\n");
  }
  std::filesystem::permissions(home_, perms::all);
  std::filesystem::permissions(home_ + "/token", perms::all);
  const auto again = Home::Open(home_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->token(), token);
  EXPECT_FALSE(Exists(home_ + "/address"));  // a killed daemon's is not believed
  EXPECT_FALSE(Exists(home_ + "/web-address"));
  EXPECT_EQ(std::filesystem::status(home_).permissions(), perms::owner_all);
  EXPECT_EQ(std::filesystem::status(home_ + "/token").permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(HomeTest, TheSecondIsRefusedAndNamesTheFirst) {
  const auto first = Home::Open(home_);
  ASSERT_TRUE(first.ok());
  const auto second = Home::Open(home_);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr("another ddpd (pid " + std::to_string(getpid()) + ") uses " + home_));
}

TEST_F(HomeTest, WrongPlaces) {
  ASSERT_TRUE(WriteFileAtomic(root_ + "/file", "x").ok());
  EXPECT_FALSE(Home::Open(root_ + "/file").ok());
  ASSERT_TRUE(MakeFolders(home_).ok());
  ASSERT_TRUE(WriteFileAtomic(home_ + "/token", "short\n").ok());
  EXPECT_THAT(std::string(Home::Open(home_).status().message()), HasSubstr("holds no token"));
}

}  // namespace
}  // namespace ddp
