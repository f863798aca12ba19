#include "server/gateway/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

using std::string_literals::operator""s;
using ::testing::HasSubstr;

TEST(WebFrameDecoderTest, CutsMessagesOutOfPieces) {
  const std::string body = "\0\0\0\0\3abc"s + "\0\0\0\0\0"s + "\0\0\0\1\0"s + std::string(256, 'x');
  for (size_t piece = 1; piece <= body.size(); piece = piece * 3 + 1) {
    WebFrameDecoder decoder;
    std::vector<std::string> messages;
    for (size_t at = 0; at < body.size(); at += piece) {
      decoder.Append(std::string_view(body).substr(at, piece));
      for (;;) {
        auto next = decoder.Next();
        ASSERT_TRUE(next.ok()) << next.status();
        if (!next->has_value()) break;
        messages.push_back(**next);
      }
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"abc", "", std::string(256, 'x')})) << piece;
    EXPECT_TRUE(decoder.empty());
  }
}

TEST(WebFrameDecoderTest, KnowsThatAFrameHasNotEnded) {
  WebFrameDecoder decoder;
  EXPECT_TRUE(decoder.empty());
  decoder.Append("\0\0"s);
  EXPECT_FALSE(decoder.Next()->has_value());
  EXPECT_FALSE(decoder.empty());
}

TEST(WebFrameDecoderTest, Refusals) {
  const auto next = [](const std::string& bytes) {
    WebFrameDecoder decoder;
    decoder.Append(bytes);
    return decoder.Next().status();
  };
  EXPECT_EQ(next("\1\0\0\0\0"s).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(next("\x80\0\0\0\0"s).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(next("\2\0\0\0\0"s).code(), absl::StatusCode::kInvalidArgument);
  // 16 MiB is 0x01000000: the limit itself is waited for, one byte more is refused by its length alone.
  EXPECT_TRUE(next("\0\1\0\0\0"s).ok());
  EXPECT_EQ(next("\0\1\0\0\1"s).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(next("\0\xff\xff\xff\xff"s).message()), HasSubstr("4294967295 bytes"));
}

TEST(WebFrameHeadTest, BigEndian) { EXPECT_EQ(WebFrameHead(0x01020304), "\0\1\2\3\4"s); }

TEST(WebTrailersFrameTest, Block) {
  EXPECT_EQ(WebTrailersFrame(grpc::Status::OK, {}), "\x80\0\0\0\x0fgrpc-status:0\r\n"s);
  // Percent-encoding of gRPC's HTTP/2 protocol: everything but space to tilde, and the percent sign itself.
  const grpc::Status status(grpc::StatusCode::NOT_FOUND, "50% of \xC3\xA4\n~", "\xfb\xff\xfe\x01"s);
  const std::string block =
      "grpc-status:5\r\ngrpc-message:50%25 of %c3%a4%0a~\r\ngrpc-status-details-bin:+//+AQ\r\nk:v\r\nb-bin:YQ\r\n";
  EXPECT_EQ(WebTrailersFrame(status, {{"k", "v"}, {"b-bin", "a"}}),
            "\x80\0\0\0"s + static_cast<char>(block.size()) + block);
}

TEST(WebTrailersFrameTest, NothingInAMessageForgesATrailer) {
  const std::string frame = WebTrailersFrame(grpc::Status(grpc::StatusCode::INTERNAL, "x\r\ngrpc-status:0"), {});
  EXPECT_EQ(frame.substr(5), "grpc-status:13\r\ngrpc-message:x%0d%0agrpc-status:0\r\n");
}

TEST(ParseGrpcTimeoutTest, Units) {
  EXPECT_EQ(*ParseGrpcTimeout("2H"), absl::Minutes(120));
  EXPECT_EQ(*ParseGrpcTimeout("3M"), absl::Seconds(180));
  EXPECT_EQ(*ParseGrpcTimeout("10S"), absl::Seconds(10));
  EXPECT_EQ(*ParseGrpcTimeout("99999999m"), absl::Milliseconds(99999999));
  EXPECT_EQ(*ParseGrpcTimeout("0u"), absl::ZeroDuration());
  EXPECT_EQ(*ParseGrpcTimeout("1n"), absl::Nanoseconds(1));
  for (const char* text : {"", "S", "1", "1s", "-1S", "1.5S", "123456789S", " 1S", "1S "}) {
    EXPECT_EQ(ParseGrpcTimeout(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace ddp
