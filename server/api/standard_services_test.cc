// The services that gRPC itself brings (grpc.health.v1, server reflection), asked over loopback as grpcurl and load
// balancers do. Debian ships no stubs for them: health messages are written by hand, those of reflection are in its
// library.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "server/api/server.h"
#include "server/manager/testing.h"

namespace ddp {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  EXPECT_TRUE(buffer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char*>(slice.begin()), slice.size());
}

class StandardServicesTest : public ::testing::Test {
 protected:
  StandardServicesTest()
      : executor_(1),
        api_{*rig_.manager, *rig_.hub, rig_.store->reader(), executor_, "token"},
        server_(std::move(ApiServer::Start(api_, {}, "127.0.0.1:0")).value()),
        stub_(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials())) {}

  // One request, one answer, without a token.
  grpc::Status Call(const std::string& method, const std::string& request, std::string* answer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    grpc::CompletionQueue queue;
    const auto call = stub_.PrepareCall(&context, method, &queue);
    const auto done = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      EXPECT_TRUE(queue.Next(&tag, &ok));
      return ok;
    };
    grpc::ByteBuffer incoming;
    call->StartCall(nullptr);
    if (done()) {
      call->WriteLast(ToBuffer(request), {}, nullptr);
      done();
      call->Read(&incoming, nullptr);
      if (done()) *answer = ToString(incoming);
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    done();
    return status;
  }

  // Of ServerReflectionRequest and ServerReflectionResponse, as text.
  std::unique_ptr<google::protobuf::Message> Reflect(const std::string& request_text) {
    const auto make = [](const std::string& name) {
      const auto* type =
          google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("grpc.reflection.v1alpha." + name);
      return std::unique_ptr<google::protobuf::Message>(
          google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
    };
    const auto request = make("ServerReflectionRequest");
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(request_text, request.get()));
    std::string answer;
    const grpc::Status status =
        Call("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", request->SerializeAsString(), &answer);
    EXPECT_TRUE(status.ok()) << status.error_message();
    auto response = make("ServerReflectionResponse");
    EXPECT_TRUE(response->ParseFromString(answer));
    return response;
  }

  Rig rig_;
  Executor executor_;
  ApiContext api_;
  std::unique_ptr<ApiServer> server_;
  grpc::GenericStub stub_;
};

// The field of a message.
const google::protobuf::Message& Inside(const google::protobuf::Message& message, const std::string& field) {
  return message.GetReflection()->GetMessage(message, message.GetDescriptor()->FindFieldByName(field));
}

TEST_F(StandardServicesTest, Health) {
  constexpr char kCheck[] = "/grpc.health.v1.Health/Check";
  std::string answer;
  ASSERT_TRUE(Call(kCheck, "", &answer).ok());
  EXPECT_EQ(answer, "\x08\x01");  // status: SERVING
  // service: "nobody"
  EXPECT_EQ(Call(kCheck, "\x0A\x06nobody", &answer).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(StandardServicesTest, ReflectionListsEveryService) {
  const auto response = Reflect("list_services: \"*\"");
  const google::protobuf::Message& list = Inside(*response, "list_services_response");
  const auto* services = list.GetDescriptor()->FindFieldByName("service");
  std::vector<std::string> names;
  for (int i = 0; i < list.GetReflection()->FieldSize(list, services); ++i) {
    const google::protobuf::Message& service = list.GetReflection()->GetRepeatedMessage(list, services, i);
    names.push_back(service.GetReflection()->GetString(service, service.GetDescriptor()->FindFieldByName("name")));
  }
  EXPECT_THAT(names, IsSupersetOf({"ddp.v1.JobService", "ddp.v1.MetricService", "ddp.v1.LogService",
                                   "ddp.v1.SystemService", "ddp.v1.RunnerService", "grpc.health.v1.Health"}));
}

TEST_F(StandardServicesTest, ReflectionGivesTheContract) {
  const auto response = Reflect("file_containing_symbol: \"ddp.v1.MetricService\"");
  const google::protobuf::Message& files = Inside(*response, "file_descriptor_response");
  const auto* field = files.GetDescriptor()->FindFieldByName("file_descriptor_proto");
  std::vector<std::string> methods;
  for (int i = 0; i < files.GetReflection()->FieldSize(files, field); ++i) {
    google::protobuf::FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(files.GetReflection()->GetRepeatedString(files, field, i)));
    for (const auto& service : file.service()) {
      for (const auto& method : service.method()) methods.push_back(service.name() + "." + method.name());
    }
  }
  EXPECT_THAT(methods, Contains("MetricService.Histograms"));
}

}  // namespace
}  // namespace ddp
