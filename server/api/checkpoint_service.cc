#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/checkpoint_folders.h"
#include "ddp/v1/checkpoint.grpc.pb.h"
#include "server/api/checkpoint_tool.h"
#include "server/api/imports.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"
#include "server/api/upload_reactor.h"
#include "server/api/weights_export.h"
#include "server/api/weights_import.h"

namespace ddp {

namespace {

// What has come is removed with it unless all of it came.
class ImportSink {
 public:
  ImportSink(std::string home, CheckpointTool& tool) : home_(std::move(home)), tool_(tool) {}

  absl::Status Take(const v1::ImportCheckpointRequest& message) {
    if (message.has_header() == (import_ != nullptr)) {
      return absl::InvalidArgumentError("a header must come first, and then only pieces");
    }
    if (import_ != nullptr) return import_->Append(message.piece());
    absl::StatusOr<std::unique_ptr<WeightsImport>> import = WeightsImport::Begin(home_, message.header());
    if (!import.ok()) return import.status();
    import_ = *std::move(import);
    return absl::OkStatus();
  }
  absl::StatusOr<v1::ImportCheckpointResponse> Finish() {
    if (import_ == nullptr) return absl::InvalidArgumentError("nothing was sent");
    return import_->Finish(tool_);
  }
  // All bytes that were announced had come: it is listed like others.
  void Undo() {}

 private:
  const std::string home_;
  CheckpointTool& tool_;
  std::unique_ptr<WeightsImport> import_;
};

class CheckpointServiceImpl final : public v1::CheckpointService::CallbackService {
 public:
  explicit CheckpointServiceImpl(ApiContext& api) : api_(api), tool_(api.worker_binary) {
    RemoveUnfinishedImports(api.home);
  }

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListCheckpointsRequest* request,
                                 v1::ListCheckpointsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request]() -> absl::StatusOr<v1::ListCheckpointsResponse> {
      const absl::StatusOr<std::string> folder = FolderOf(request->job_id());
      if (!folder.ok()) return folder.status();
      if (ListCheckpoints(*folder).empty()) return v1::ListCheckpointsResponse();
      return tool_.List(*folder);
    });
  }
  grpc::ServerUnaryReactor* Verify(grpc::CallbackServerContext* context, const v1::VerifyCheckpointsRequest* request,
                                   v1::VerifyCheckpointsResponse* response) override {
    return UnaryOr(api_, context, response, [this, request] { return DoVerify(*request); });
  }
  grpc::ServerWriteReactor<v1::ExportCheckpointResponse>* Export(grpc::CallbackServerContext* context,
                                                                 const v1::ExportCheckpointRequest* request) override {
    return StreamReactor<WeightsExport, v1::ExportCheckpointResponse>::Start(
        api_, context, [this, request = *request](const std::function<void()>&) {
          return WeightsExport::Make(api_.manager, tool_, api_.home, request);
        });
  }
  grpc::ServerReadReactor<v1::ImportCheckpointRequest>* Import(grpc::CallbackServerContext* context,
                                                               v1::ImportCheckpointResponse* response) override {
    return UploadReactor<ImportSink, v1::ImportCheckpointRequest, v1::ImportCheckpointResponse>::Start(
        api_, context, response, std::make_unique<ImportSink>(api_.home, tool_));
  }
  grpc::ServerUnaryReactor* ListImports(grpc::CallbackServerContext* context, const v1::ListImportsRequest*,
                                        v1::ListImportsResponse* response) override {
    return UnaryOr(api_, context, response, [this] { return ddp::ListImports(api_.manager, api_.home); });
  }
  grpc::ServerUnaryReactor* DeleteImport(grpc::CallbackServerContext* context, const v1::DeleteImportRequest* request,
                                         v1::DeleteImportResponse* response) override {
    return UnaryOr(api_, context, response,
                   [this, request] { return ddp::DeleteImport(api_.manager, api_.home, request->id()); });
  }

 private:
  absl::StatusOr<std::string> FolderOf(const std::string& id) {
    const absl::StatusOr<v1::Job> job = api_.manager.Get(id);
    if (!job.ok()) return job.status();
    return api_.manager.CheckpointFolderOf(job->id());
  }

  absl::StatusOr<v1::VerifyCheckpointsResponse> DoVerify(const v1::VerifyCheckpointsRequest& request) {
    const absl::StatusOr<std::string> folder = FolderOf(request.job_id());
    if (!folder.ok()) return folder.status();
    std::vector<int64_t> steps = ListCheckpoints(*folder);
    if (!request.checkpoint().empty()) {
      const absl::StatusOr<int64_t> step = ResolveCheckpoint(*folder, request.checkpoint());
      if (!step.ok()) return step.status();
      steps = {*step};
    }
    if (steps.empty()) return v1::VerifyCheckpointsResponse();
    std::vector<std::string> folders;
    for (const int64_t step : steps) folders.push_back(absl::StrCat(*folder, "/", CheckpointName(step)));
    return tool_.Verify(folders);
  }

  ApiContext& api_;
  CheckpointTool tool_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeCheckpointService(ApiContext& api) {
  return std::make_unique<CheckpointServiceImpl>(api);
}

}  // namespace ddp
