#include "common/framing.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "common/files.h"

namespace ddp {
namespace {

using std::string_literals::operator""s;

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    a = UniqueFd(fds[0]);
    b = UniqueFd(fds[1]);
  }
  UniqueFd a;
  UniqueFd b;
};

TEST(Frame, LengthIsLittleEndian) {
  EXPECT_EQ(EncodeFrame("abc"), "\3\0\0\0abc"s);
  EXPECT_EQ(EncodeFrame(""), "\0\0\0\0"s);
  EXPECT_EQ(EncodeFrame(std::string(0x010203, 'x')).substr(0, 4), "\3\2\1\0"s);
}

TEST(Frame, DecoderCutsAnyPieces) {
  const std::string stream = EncodeFrame("one") + EncodeFrame("") + EncodeFrame(std::string(300, 'z'));
  for (size_t piece = 1; piece <= stream.size(); piece += 7) {
    FrameDecoder decoder;
    std::vector<std::string> frames;
    for (size_t at = 0; at < stream.size(); at += piece) {
      decoder.Append(stream.substr(at, piece));
      for (auto next = decoder.Next(); next.ok() && next->has_value(); next = decoder.Next()) frames.push_back(**next);
    }
    EXPECT_EQ(frames, (std::vector<std::string>{"one", "", std::string(300, 'z')})) << "piece " << piece;
  }
}

TEST(Frame, DecoderRefusesAHugeLengthBeforeAnyAllocation) {
  FrameDecoder decoder;
  decoder.Append("\1\0\0\4"s);  // 64 MiB + 1
  EXPECT_EQ(decoder.Next().status().code(), absl::StatusCode::kInvalidArgument);
  FrameDecoder largest;
  largest.Append("\0\0\0\4"s);  // 64 MiB: allowed, not there yet
  EXPECT_FALSE(largest.Next()->has_value());
}

TEST(Frame, WriteThenReadAcrossAFullNonBlockingSocket) {
  Pair pair;
  fcntl(pair.a.get(), F_SETFL, O_NONBLOCK);
  fcntl(pair.b.get(), F_SETFL, O_NONBLOCK);
  const std::string big(5'000'000, 'q');
  std::thread writer([&] {
    EXPECT_TRUE(WriteFrame(pair.a.get(), big).ok());
    EXPECT_TRUE(WriteFrame(pair.a.get(), "end").ok());
    pair.a = UniqueFd();
  });
  EXPECT_EQ(**ReadFrame(pair.b.get()), big);
  EXPECT_EQ(**ReadFrame(pair.b.get()), "end");
  const auto last = ReadFrame(pair.b.get());
  EXPECT_TRUE(last.ok() && !last->has_value());
  writer.join();
}

TEST(Frame, EndInsideAFrameIsDataLoss) {
  for (const std::string& cut : {"\3\0"s, "\3\0\0\0"s, "\3\0\0\0ab"s}) {
    Pair pair;
    ASSERT_TRUE(WriteAll(pair.a.get(), cut).ok());
    pair.a = UniqueFd();
    EXPECT_EQ(ReadFrame(pair.b.get()).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(Frame, TooLongIsRefusedOnBothSides) {
  Pair pair;
  ASSERT_TRUE(WriteAll(pair.a.get(), "\xFF\xFF\xFF\xFF"s).ok());
  EXPECT_EQ(ReadFrame(pair.b.get()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WriteFrame(pair.a.get(), std::string(kMaxFrameBytes + 1, 'x')).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ddp
