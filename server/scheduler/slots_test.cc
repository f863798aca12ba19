#include "server/scheduler/slots.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace ddp {
namespace {

TEST(SlotsTest, GivenNumber) {
  const SlotInventory inventory = DetectSlots(3);
  ASSERT_EQ(inventory.slots.size(), 3u);
  EXPECT_FALSE(inventory.has_gpus);
  EXPECT_EQ(inventory.slots[2].index(), 2);
  EXPECT_EQ(inventory.slots[2].name(), "cpu 2");
  EXPECT_EQ(inventory.slots[2].device(), v1::DEVICE_CPU);
}

TEST(SlotsTest, OnePerUsableCore) {
  const SlotInventory before = DetectSlots(0);
  if (before.has_gpus) GTEST_SKIP() << "this machine has GPUs";
  EXPECT_NE(before.no_gpu_reason, "");
  cpu_set_t old;
  ASSERT_EQ(sched_getaffinity(0, sizeof(old), &old), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &old)) {
      CPU_SET(i, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const SlotInventory inventory = DetectSlots(0);
  sched_setaffinity(0, sizeof(old), &old);
  EXPECT_EQ(inventory.slots.size(), 1u);
  EXPECT_EQ(inventory.cores, 1);
  EXPECT_EQ(before.slots.size(), static_cast<size_t>(CPU_COUNT(&old)));
}

}  // namespace
}  // namespace ddp
