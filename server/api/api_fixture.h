// Real gRPC over loopback, in front of a manager whose launcher starts nothing; for tests.
#ifndef DDP_SERVER_API_API_FIXTURE_H_
#define DDP_SERVER_API_API_FIXTURE_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "ddp/v1/job.grpc.pb.h"
#include "ddp/v1/runner.grpc.pb.h"
#include "server/api/server.h"
#include "server/manager/testing.h"

namespace ddp {

class ApiTest : public ::testing::Test {
 protected:
  // A runner that has attached and got the coordinator's hello. Hangs up when destroyed.
  class Runner {
   public:
    Runner(const std::shared_ptr<grpc::Channel>& channel, const v1::RunnerHello& hello)
        : stub_(v1::RunnerService::NewStub(channel)), stream_(stub_->Attach(&context_)) {
      v1::RunnerMessage message;
      *message.mutable_hello() = hello;
      stream_->Write(message);
      attached_ = stream_->Read(&reply_);
    }
    ~Runner() {
      if (finished_) return;
      context_.TryCancel();
      stream_->Finish();
    }
    // False: it was refused.
    bool attached() const { return attached_; }
    uint64_t acked_at_attach() const { return reply_.hello().acked_seq(); }
    // Why it was refused.
    grpc::Status Finish() {
      finished_ = true;
      return stream_->Finish();
    }
    bool Send(const v1::RunnerEvent& event) {
      v1::RunnerMessage message;
      *message.mutable_event() = event;
      return stream_->Write(message);
    }
    // Until the event is durable. False: the stream broke.
    bool WaitAcked(uint64_t seq) {
      v1::CoordinatorMessage reply;
      while (acked_ < seq && stream_->Read(&reply)) acked_ = std::max(acked_, reply.ack().seq());
      return acked_ >= seq;
    }

   private:
    const std::unique_ptr<v1::RunnerService::Stub> stub_;
    grpc::ClientContext context_;
    const std::unique_ptr<grpc::ClientReaderWriter<v1::RunnerMessage, v1::CoordinatorMessage>> stream_;
    v1::CoordinatorMessage reply_;
    bool attached_ = false;
    bool finished_ = false;
    uint64_t acked_ = 0;
  };

  ApiTest()
      : executor_(4),
        api_{*rig_.manager, *rig_.hub, rig_.store->reader(), executor_, "right", rig_.home, ""},
        server_(std::move(ApiServer::Start(api_, {}, "127.0.0.1:0")).value()),
        channel_(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials())),
        jobs_(v1::JobService::NewStub(channel_)) {}

  static std::unique_ptr<grpc::ClientContext> Context(const std::string& token = "right") {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    if (!token.empty()) context->AddMetadata("authorization", "Bearer " + token);
    return context;
  }
  std::string Submit() {
    v1::SubmitJobResponse response;
    EXPECT_TRUE(jobs_->Submit(Context().get(), Rig::Request(), &response).ok());
    return response.job().id();
  }

  Rig rig_;
  Executor executor_;
  ApiContext api_;
  std::unique_ptr<ApiServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> jobs_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_API_FIXTURE_H_
