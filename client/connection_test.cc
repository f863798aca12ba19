#include "client/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>

#include "absl/time/clock.h"
#include "client/exit_codes.h"
#include "common/files.h"
#include "ddp/v1/rpc_status.pb.h"

namespace ddp {
namespace {

using ::testing::HasSubstr;

// Answers Get with the token that it was called with.
class EchoToken final : public v1::JobService::Service {
  grpc::Status Get(grpc::ServerContext* context, const v1::GetJobRequest*, v1::Job* job) override {
    const auto found = context->client_metadata().find("authorization");
    if (found != context->client_metadata().end()) job->set_id(std::string(found->second.data(), found->second.size()));
    return grpc::Status::OK;
  }
};

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    std::string name = ::testing::TempDir() + "/connection_test.XXXXXX";
    home_ = mkdtemp(name.data());
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
    EXPECT_TRUE(WriteFileAtomic(home_ + "/token", "from-home\n").ok());
  }
  ~ConnectionTest() override { std::filesystem::remove_all(home_); }

  std::string TokenSeen(const ConnectionOptions& options) {
    Connection connection = Connection::Open(options);
    v1::Job job;
    const auto context = connection.Context();
    EXPECT_TRUE(connection.jobs().Get(context.get(), {}, &job).ok());
    return job.id();
  }

  EchoToken service_;
  std::unique_ptr<grpc::Server> server_;
  std::string home_;
  std::string address_;
};

TEST_F(ConnectionTest, AddressAndTokenOfTheHome) {
  ASSERT_TRUE(WriteFileAtomic(home_ + "/address", address_ + "\n").ok());
  EXPECT_EQ(TokenSeen({.home = home_}), "Bearer from-home");
  EXPECT_EQ(TokenSeen({.home = home_, .token = "given"}), "Bearer given");
  ASSERT_TRUE(WriteFileAtomic(home_ + "/other", "from-file").ok());
  EXPECT_EQ(TokenSeen({.home = home_, .token_file = home_ + "/other"}), "Bearer from-file");
}

TEST_F(ConnectionTest, NoDaemon) {
  try {
    Connection::Open({.home = home_, .autostart = false});
    FAIL();
  } catch (const ExitError& e) {
    EXPECT_EQ(e.code, kNoDaemon);
    EXPECT_THAT(e.what(), HasSubstr("no daemon runs with the home " + home_));
  }
  // An address that a killed daemon left behind.
  server_->Shutdown();
  server_.reset();
  ASSERT_TRUE(WriteFileAtomic(home_ + "/address", address_ + "\n").ok());
  const absl::Time before = absl::Now();
  EXPECT_EQ(Connection::Find({.home = home_}), nullptr);
  EXPECT_LT(absl::Now() - before, absl::Seconds(1));  // refused at once; nothing is waited for
  // Nor does a token that went with it matter.
  std::filesystem::remove(home_ + "/token");
  EXPECT_EQ(Connection::Find({.home = home_}), nullptr);
}

TEST_F(ConnectionTest, SomebodyElseOnTheAddress) {
  // Accepts, and says nothing.
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener.get(), 5), 0);
  ASSERT_EQ(getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string text = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(Connection::Find({.home = home_, .address = text}), nullptr);
}

TEST_F(ConnectionTest, MissingToken) {
  ASSERT_TRUE(WriteFileAtomic(home_ + "/address", address_ + "\n").ok());
  EXPECT_THROW(Connection::Open({.home = home_, .token_file = home_ + "/none"}), ExitError);
}

TEST(ErrorOfTest, CodesAndViolations) {
  EXPECT_EQ(ErrorOf({grpc::StatusCode::UNAVAILABLE, "x"}).code, kNoDaemon);
  EXPECT_EQ(ErrorOf({grpc::StatusCode::NOT_FOUND, "x"}).code, kNotFound);
  EXPECT_EQ(ErrorOf({grpc::StatusCode::FAILED_PRECONDITION, "x"}).code, kRefused);
  EXPECT_EQ(ErrorOf({grpc::StatusCode::UNAUTHENTICATED, "wrong token"}).code, kRefused);
  v1::ErrorDetail detail;
  v1::FieldViolation& a = *detail.add_violations();
  a.set_field("training.lr");
  a.set_description("must be > 0, got 0");
  v1::FieldViolation& b = *detail.add_violations();
  b.set_field("training");
  b.set_description("not given");
  v1::RpcStatus rich;
  rich.add_details()->PackFrom(a);  // of another kind
  rich.add_details()->PackFrom(detail);
  const ExitError error = ErrorOf({grpc::StatusCode::INVALID_ARGUMENT, "text", rich.SerializeAsString()});
  EXPECT_EQ(error.code, kRefused);
  EXPECT_STREQ(error.what(), "--lr (training.lr): must be > 0, got 0\ntraining: not given");
}

}  // namespace
}  // namespace ddp
