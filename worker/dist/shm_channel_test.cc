#include "worker/dist/shm_channel.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "common/files.h"
#include "common/shm_layout.h"

namespace ddp {
namespace {

using std::chrono::milliseconds;

// Ranks as threads: the channel knows only memory.
void RunRanks(int world_size, const std::function<void(ShmChannel&)>& body) {
  UniqueFd fd(memfd_create("shm_channel_test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(ShmBytes(world_size))), 0);
  std::vector<std::thread> ranks;
  for (int r = 0; r < world_size; ++r) {
    ranks.emplace_back([&, r] {
      auto channel = ShmChannel::Map(fd.get(), r, world_size, std::chrono::seconds(20));
      ASSERT_TRUE(channel.ok()) << channel.status();
      body(*channel);
    });
  }
  for (std::thread& t : ranks) t.join();
}

class ShmChannelTest : public testing::TestWithParam<int> {};

TEST_P(ShmChannelTest, SumsEveryElementOverRanks) {
  const int w = GetParam();
  // Below, at and above one chunk, and several chunks with a remainder.
  constexpr size_t kChunk = kShmBufferBytes / sizeof(float);
  for (size_t n : {size_t{1}, size_t{7}, kChunk, kChunk + 1, 3 * kChunk + 5}) {
    RunRanks(w, [&](ShmChannel& channel) {
      std::vector<float> data(n);
      for (size_t i = 0; i < n; ++i) data[i] = static_cast<float>((i % 1000) * (channel.rank() + 1));
      channel.AllReduceSum(data.data(), n);
      // sum over ranks of (rank + 1) = w (w + 1) / 2; all values are whole and small, so exact.
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(data[i], static_cast<float>((i % 1000) * (w * (w + 1) / 2))) << i;
    });
  }
}

TEST_P(ShmChannelTest, ManySmallRoundsStayInStep) {
  RunRanks(GetParam(), [&](ShmChannel& channel) {
    for (int64_t round = 0; round < 5000; ++round) {
      int64_t value[2] = {round, channel.rank()};
      channel.AllReduceSum(value, 2);
      ASSERT_EQ(value[0], round * channel.world_size());
      ASSERT_EQ(value[1], channel.world_size() * (channel.world_size() - 1) / 2);
    }
  });
}

TEST_P(ShmChannelTest, SumsInRankOrderSoThatAllRanksGetTheSameBits) {
  // 0.1 + 0.2 + 0.3 + ... depends on the order of additions.
  const int w = GetParam();
  double expected = 0.1;
  for (int r = 1; r < w; ++r) expected += 0.1 * (r + 1);
  RunRanks(w, [&](ShmChannel& channel) {
    double value = 0.1 * (channel.rank() + 1);
    channel.AllReduceSum(&value, 1);
    EXPECT_EQ(value, expected);
  });
}

TEST_P(ShmChannelTest, BroadcastsFromAnyRoot) {
  const int w = GetParam();
  const size_t bytes = 2 * kShmBufferBytes + 3;
  for (int root = 0; root < w; ++root) {
    RunRanks(w, [&](ShmChannel& channel) {
      std::vector<unsigned char> data(bytes, static_cast<unsigned char>(channel.rank() + 1));
      channel.Broadcast(data.data(), bytes, root);
      for (unsigned char c : data) ASSERT_EQ(c, root + 1);
    });
  }
}

TEST_P(ShmChannelTest, GathersInRankOrder) {
  const int w = GetParam();
  RunRanks(w, [&](ShmChannel& channel) {
    const int32_t mine[3] = {channel.rank(), 10 * channel.rank(), 7};
    std::vector<int32_t> all(static_cast<size_t>(3 * w));
    channel.AllGather(mine, sizeof(mine), all.data());
    for (int r = 0; r < w; ++r) {
      EXPECT_EQ(all[static_cast<size_t>(3 * r)], r);
      EXPECT_EQ(all[static_cast<size_t>(3 * r + 1)], 10 * r);
      EXPECT_EQ(all[static_cast<size_t>(3 * r + 2)], 7);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(WorldSizes, ShmChannelTest, testing::Values(1, 2, 3, 4, 7));

TEST(ShmChannel, AMissingPeerIsNamedAfterTheTimeOut) {
  UniqueFd fd(memfd_create("shm_channel_test", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(ShmBytes(2))), 0);
  auto channel = ShmChannel::Map(fd.get(), 0, 2, milliseconds(300));
  ASSERT_TRUE(channel.ok());
  const auto begin = std::chrono::steady_clock::now();
  try {
    channel->Barrier();
    FAIL() << "met nobody";
  } catch (const PeerLostError& e) {
    EXPECT_NE(std::strstr(e.what(), "rank 1"), nullptr) << e.what();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(300));
}

// Case A4: an impossible rank or world size is blamed by name.
TEST(ShmChannel, RefusesImpossibleRanks) {
  for (auto [rank, world] : {std::pair{0, 0}, {4, 4}, {-1, 2}}) {
    auto channel = ShmChannel::Map(-1, rank, world, milliseconds(1));
    ASSERT_FALSE(channel.ok());
    EXPECT_NE(channel.status().ToString().find("world_size"), std::string::npos) << channel.status();
  }
}

}  // namespace
}  // namespace ddp
