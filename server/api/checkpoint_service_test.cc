// CheckpointService over real gRPC, with a script in the place of ddp-worker.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "ddp/v1/checkpoint.grpc.pb.h"
#include "ddp/v1/job.grpc.pb.h"
#include "server/api/server.h"
#include "server/api/weights_import.h"
#include "server/manager/testing.h"

namespace ddp {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CheckpointServiceTest : public ::testing::Test {
 protected:
  CheckpointServiceTest()
      : worker_(rig_.home + "/worker"),
        executor_(8),
        api_{*rig_.manager, *rig_.hub, rig_.store->reader(), executor_, "right", rig_.home, worker_},
        server_(std::move(ApiServer::Start(api_, {}, "127.0.0.1:0")).value()),
        channel_(grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials())),
        stub_(v1::CheckpointService::NewStub(channel_)) {
    v1::SubmitJobResponse response;
    EXPECT_TRUE(v1::JobService::NewStub(channel_)->Submit(Context().get(), Rig::Request(), &response).ok());
    job_ = response.job().id();
    for (const char* step : {"step-00000004", "step-00000012"}) {
      const std::string folder = rig_.manager->JobFolder(job_) + "/checkpoints/" + step;
      std::filesystem::create_directories(folder);
      std::ofstream(folder + "/manifest.json") << "{}";
    }
  }
  static std::unique_ptr<grpc::ClientContext> Context(const std::string& token = "right") {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    context->AddMetadata("authorization", "Bearer " + token);
    return context;
  }
  // What the worker does with its arguments "$@".
  void Worker(const std::string& script) const {
    std::ofstream(worker_) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(worker_, std::filesystem::perms::owner_all);
  }
  std::string Answer(const google::protobuf::Message& message) const {
    std::ofstream(rig_.home + "/answer") << message.SerializeAsString();
    return "cat " + rig_.home + "/answer\n";
  }
  std::string imports() const { return rig_.home + "/imports"; }
  std::vector<std::string> Imports() const { return ListFolder(imports()).value_or(std::vector<std::string>()); }

  // The daemon removes an upload after it has answered.
  void ExpectEmptySoon() const {
    for (const absl::Time end = absl::Now() + absl::Seconds(20); !Imports().empty() && absl::Now() < end;) {
      absl::SleepFor(absl::Milliseconds(10));
    }
    EXPECT_TRUE(Imports().empty());
  }

  // Sends the messages and gives the end's status.
  grpc::Status Import(const std::vector<v1::ImportCheckpointRequest>& parts, v1::ImportCheckpointResponse* response) {
    const auto context = Context();
    const auto stream = stub_->Import(context.get(), response);
    for (const auto& part : parts) {
      if (!stream->Write(part)) break;
    }
    stream->WritesDone();
    return stream->Finish();
  }
  static v1::ImportCheckpointRequest Header(int64_t bytes, const std::string& name = "my.pt") {
    v1::ImportCheckpointRequest part;
    part.mutable_header()->set_bytes(bytes);
    part.mutable_header()->set_name(name);
    return part;
  }
  static v1::ImportCheckpointRequest Piece(const std::string& bytes) {
    v1::ImportCheckpointRequest part;
    part.set_piece(bytes);
    return part;
  }
  grpc::Status Export(const std::string& checkpoint, v1::WeightsHeader* header, std::string* bytes,
                      v1::WeightsFormat format = v1::WEIGHTS_FORMAT_PT) {
    v1::ExportCheckpointRequest request;
    request.set_job_id(job_);
    request.set_checkpoint(checkpoint);
    request.set_format(format);
    const auto context = Context();
    const auto stream = stub_->Export(context.get(), request);
    for (v1::ExportCheckpointResponse part; stream->Read(&part);) {
      if (part.has_header()) *header = part.header();
      *bytes += part.piece();
    }
    return stream->Finish();
  }

  Rig rig_;
  const std::string worker_;
  Executor executor_;
  ApiContext api_;
  std::unique_ptr<ApiServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CheckpointService::Stub> stub_;
  std::string job_;
};

TEST_F(CheckpointServiceTest, Token) {
  v1::ListCheckpointsResponse list;
  EXPECT_EQ(stub_->List(Context("wrong").get(), {}, &list).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const auto context = Context("wrong");
  v1::ImportCheckpointResponse response;
  EXPECT_EQ(stub_->Import(context.get(), &response)->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const auto export_context = Context("wrong");
  EXPECT_EQ(stub_->Export(export_context.get(), {})->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_TRUE(Imports().empty());
  v1::ListImportsResponse imports;
  EXPECT_EQ(stub_->ListImports(Context("wrong").get(), {}, &imports).error_code(), grpc::StatusCode::UNAUTHENTICATED);
  v1::DeleteImportResponse deleted;
  EXPECT_EQ(stub_->DeleteImport(Context("wrong").get(), {}, &deleted).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(CheckpointServiceTest, ListAndVerifyAskTheWorker) {
  v1::ListCheckpointsResponse list;
  list.add_checkpoints()->set_step(4);
  Worker("echo \"$@\" > " + rig_.home + "/call\n" + Answer(list));
  v1::ListCheckpointsRequest request;
  request.set_job_id(job_);
  v1::ListCheckpointsResponse got;
  ASSERT_TRUE(stub_->List(Context().get(), request, &got).ok());
  EXPECT_EQ(got.SerializeAsString(), list.SerializeAsString());
  const std::string folder = rig_.manager->JobFolder(job_) + "/checkpoints";
  EXPECT_EQ(*ReadFile(rig_.home + "/call"), "--list " + folder + "\n");

  v1::VerifyCheckpointsRequest verify;
  verify.set_job_id(job_);
  v1::VerifyCheckpointsResponse conditions;
  ASSERT_TRUE(stub_->Verify(Context().get(), verify, &conditions).ok());
  EXPECT_EQ(*ReadFile(rig_.home + "/call"), "--verify " + folder + "/step-00000004 " + folder + "/step-00000012\n");
  verify.set_checkpoint("4");
  ASSERT_TRUE(stub_->Verify(Context().get(), verify, &conditions).ok());
  EXPECT_EQ(*ReadFile(rig_.home + "/call"), "--verify " + folder + "/step-00000004\n");
  verify.set_checkpoint("../../x");
  EXPECT_EQ(stub_->Verify(Context().get(), verify, &conditions).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(CheckpointServiceTest, ExportStreamsWhatTheWorkerWrote) {
  constexpr size_t kBytes = 3'500'000;  // four pieces
  v1::WeightsHeader written;
  written.set_bytes(kBytes);
  written.set_tensors(7);
  Worker("head -c 3500000 /dev/zero | tr '\\0' 'w' >&3\n" + Answer(written));
  v1::WeightsHeader header;
  std::string bytes;
  const grpc::Status status = Export("last", &header, &bytes);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(header.name(), job_ + "-step-00000012.pt");
  EXPECT_EQ(header.step(), 12);
  EXPECT_EQ(header.tensors(), 7);
  EXPECT_EQ(bytes, std::string(kBytes, 'w'));
  const auto left = ListFolder(rig_.home);
  EXPECT_THAT(*left, Not(Contains(StartsWith(".export-"))));
}

TEST_F(CheckpointServiceTest, ExportRefusals) {
  Worker("echo model.safetensors: damaged >&2; exit 79\n");  // 64 + DATA_LOSS
  v1::WeightsHeader header;
  std::string bytes;
  grpc::Status status = Export("", &header, &bytes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(status.error_message(), "model.safetensors: damaged");
  status = Export("5", &header, &bytes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("its steps are 4, 12"));
  EXPECT_EQ(Export("", &header, &bytes, v1::WEIGHTS_FORMAT_UNSPECIFIED).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  // Retention takes the folder away while the worker reads.
  Worker("rm -r \"$2\"; echo cannot open >&2; exit 69\n");
  status = Export("4", &header, &bytes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("the checkpoint of step 4 was removed meanwhile"));
  Worker("kill -SEGV $$\n");
  status = Export("12", &header, &bytes);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("signal 11 (SIGSEGV)"));
}

TEST_F(CheckpointServiceTest, ImportKeepsWhatTheWorkerMade) {
  v1::WeightsHeader written;
  written.set_bytes(5);
  Worker("tr a-z A-Z < \"$2\" >&3\n" + Answer(written));
  v1::ImportCheckpointResponse response;
  const grpc::Status status = Import({Header(10), Piece("hello"), Piece("world")}, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.path(), imports() + "/" + response.id() + "/model.safetensors");
  EXPECT_EQ(*ReadFile(response.path()), "HELLOWORLD");
  EXPECT_THAT(*ListFolder(imports() + "/" + response.id()), ::testing::ElementsAre("model.safetensors"));
  EXPECT_THAT(Imports(), ::testing::ElementsAre(response.id()));
}

TEST_F(CheckpointServiceTest, ImportRefusalsKeepNothing) {
  Worker("echo \"$2: evil\" >&2; exit 67\n");  // 64 + INVALID_ARGUMENT
  v1::ImportCheckpointResponse response;
  const auto refusal = [&](const std::vector<v1::ImportCheckpointRequest>& parts) {
    const grpc::Status status = Import(parts, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    return status.error_message();
  };
  EXPECT_EQ(refusal({Header(2), Piece("ab")}), "\"my.pt\": evil");
  EXPECT_THAT(refusal({}), HasSubstr("nothing was sent"));
  EXPECT_THAT(refusal({Piece("ab")}), HasSubstr("a header must come first"));
  EXPECT_THAT(refusal({Header(2), Header(2)}), HasSubstr("a header must come first"));
  EXPECT_THAT(refusal({Header(2), Piece("abc")}), HasSubstr("more than the 2 bytes"));
  EXPECT_THAT(refusal({Header(3), Piece("ab")}), HasSubstr("2 bytes came instead of the 3"));
  EXPECT_THAT(refusal({Header(0)}), HasSubstr("must say how many bytes"));
  const grpc::Status status = Import({Header(kLargestImport + 1)}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  ExpectEmptySoon();
}

class ImportsTest : public CheckpointServiceTest {
 protected:
  void Put(const std::string& id, const std::string& content, int64_t seconds) const {
    const std::string folder = imports() + "/" + id;
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/model.safetensors") << content;
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder + "/model.safetensors").c_str(), times, 0), 0);
  }
  grpc::Status Delete(const std::string& id) {
    v1::DeleteImportRequest request;
    request.set_id(id);
    return stub_->DeleteImport(Context().get(), request, &deleted_);
  }
  v1::ListImportsResponse List() {
    v1::ListImportsResponse list;
    EXPECT_TRUE(stub_->ListImports(Context().get(), {}, &list).ok());
    return list;
  }
  std::string StartFrom(const std::string& path) {
    v1::SubmitJobRequest request = Rig::Request();
    request.mutable_spec()->mutable_training()->set_mode(v1::MODE_FINETUNE);
    request.mutable_spec()->mutable_training()->set_init_from(path);
    const SubmitResult result = rig_.manager->Submit(request);
    EXPECT_TRUE(result.status.ok()) << result.status;
    return result.response.job().id();
  }

  v1::DeleteImportResponse deleted_;
};

TEST_F(ImportsTest, OldestFirst) {
  EXPECT_EQ(List().imports_size(), 0);
  Put("0bbbbbbbbbbb", "123", 1800000002);
  Put("0aaaaaaaaaaa", "12345", 1800000001);
  Put(".tmp-0cccccccccc", "1", 1800000003);  // still coming
  const v1::ListImportsResponse list = List();
  ASSERT_EQ(list.imports_size(), 2);
  EXPECT_EQ(list.imports(0).id(), "0aaaaaaaaaaa");
  EXPECT_EQ(list.imports(0).path(), imports() + "/0aaaaaaaaaaa/model.safetensors");
  EXPECT_EQ(list.imports(0).bytes(), 5);
  EXPECT_EQ(list.imports(0).time().seconds(), 1800000001);
  EXPECT_EQ(list.imports(0).job_ids_size(), 0);
  EXPECT_EQ(list.imports(1).id(), "0bbbbbbbbbbb");
}

TEST_F(ImportsTest, DeletedByNameBeginningOrPath) {
  for (const char* id : {"0aaaaaaaaaaa", "0abbbbbbbbbb", "0bbbbbbbbbbb"}) Put(id, "1", 1);
  EXPECT_EQ(Delete("0a").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (const char* wrong :
       {"", "0c", "..", "0aaaaaaaaaaa/../0bbbbbbbbbbb", "/0aaaaaaaaaaa/model.safetensors", ".tmp-"}) {
    EXPECT_EQ(Delete(wrong).error_code(), grpc::StatusCode::NOT_FOUND) << wrong;
  }
  EXPECT_EQ(Imports().size(), 3u);
  ASSERT_TRUE(Delete("0aa").ok());
  EXPECT_EQ(deleted_.id(), "0aaaaaaaaaaa");
  ASSERT_TRUE(Delete("0abbbbbbbbbb").ok());
  ASSERT_TRUE(Delete(imports() + "/0bbbbbbbbbbb/model.safetensors").ok());
  EXPECT_TRUE(Imports().empty());
}

TEST_F(ImportsTest, NotWhileAJobMayStartFromThem) {
  Put("0aaaaaaaaaaa", "1", 1);
  Put("0aaaaaaaaaab", "1", 1);
  std::filesystem::create_directory_symlink(imports(), rig_.home + "/link");
  const std::string waits = StartFrom(imports() + "/0aaaaaaaaaaa/model.safetensors");
  const std::string linked = StartFrom(rig_.home + "/link/../link/0aaaaaaaaaaa/model.safetensors");
  ASSERT_EQ(rig_.State(waits), v1::JOB_STATE_QUEUED);
  // In the order of their ids, which two jobs of one millisecond need not have been submitted in.
  const auto& [first, second] = std::minmax(waits, linked);
  EXPECT_THAT(List().imports(0).job_ids(), ::testing::ElementsAre(first, second));
  EXPECT_EQ(List().imports(1).job_ids_size(), 0);
  grpc::Status status = Delete("0aaaaaaaaaaa");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("the jobs " + first + ", " + second + " may still start from them"));
  ASSERT_TRUE(rig_.manager->Cancel(waits, false).ok());
  ASSERT_TRUE(rig_.manager->Pause(linked).ok());  // may be resumed
  status = Delete("0aaaaaaaaaaa");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("job " + linked + " may still start from them; cancel it first"));
  ASSERT_TRUE(rig_.manager->Cancel(linked, false).ok());
  EXPECT_TRUE(Delete("0aaaaaaaaaaa").ok());
  EXPECT_THAT(Imports(), ::testing::ElementsAre("0aaaaaaaaaab"));
}

TEST_F(CheckpointServiceTest, AClientThatGoesLeavesNothing) {
  v1::ImportCheckpointResponse response;
  const auto context = Context();
  const auto stream = stub_->Import(context.get(), &response);
  ASSERT_TRUE(stream->Write(Header(1000)));
  ASSERT_TRUE(stream->Write(Piece("ab")));
  context->TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  ExpectEmptySoon();
}

TEST_F(CheckpointServiceTest, OnlyAFewAtOnce) {
  const std::string gate = rig_.home + "/gate";
  Worker("echo x >> " + rig_.home + "/calls; while [ ! -e " + gate + " ]; do sleep 0.05; done; exit 0\n");
  v1::VerifyCheckpointsRequest request;
  request.set_job_id(job_);
  std::vector<std::thread> calls;
  std::atomic<int> ok{0};
  for (int i = 0; i < 4; ++i) {
    calls.emplace_back([&] {
      v1::VerifyCheckpointsResponse response;
      if (stub_->Verify(Context().get(), request, &response).ok()) ++ok;
    });
  }
  for (const absl::Time end = absl::Now() + absl::Seconds(20); absl::Now() < end;) {
    const auto text = ReadFile(rig_.home + "/calls");
    if (text.ok() && text->size() == 8) break;  // all four are at work
    absl::SleepFor(absl::Milliseconds(10));
  }
  v1::VerifyCheckpointsResponse response;
  EXPECT_EQ(stub_->Verify(Context().get(), request, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  std::ofstream(gate) << "";
  for (std::thread& call : calls) call.join();
  EXPECT_EQ(ok, 4);
  EXPECT_TRUE(stub_->Verify(Context().get(), request, &response).ok());
}

}  // namespace
}  // namespace ddp
