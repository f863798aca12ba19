#include "server/gateway/response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddp {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(ResponseHeadTest, LengthAndConnection) {
  const WebResponse response = TextResponse(404, "nothing");
  const std::string kept = ResponseHead(response, true);
  EXPECT_THAT(kept, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(kept, HasSubstr("\r\nContent-Length: 8\r\n"));
  EXPECT_THAT(kept, HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(kept, EndsWith("\r\n\r\n"));
  EXPECT_THAT(kept, Not(HasSubstr("Connection:")));
  EXPECT_THAT(ResponseHead(response, false), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(ResponseHead({.status = 304}, true), Not(HasSubstr("Content-Length")));
}

TEST(StreamHeadTest, ChunksOfGrpcWeb) {
  EXPECT_THAT(StreamHead(true), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(StreamHead(true), HasSubstr("\r\nContent-Type: application/grpc-web+proto\r\n"));
  EXPECT_THAT(StreamHead(true), EndsWith("\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_EQ(ChunkHead(31), "1f\r\n");
}

}  // namespace
}  // namespace ddp
