#include <memory>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "common/checkpoint_folders.h"
#include "ddp/v1/checkpoint.grpc.pb.h"
#include "server/api/checkpoint_tool.h"
#include "server/api/imports.h"
#include "server/api/services.h"
#include "server/api/stream_reactor.h"
#include "server/api/weights_export.h"
#include "server/api/weights_import.h"

namespace ddp {

namespace {

// Takes one piece at a time, handles it on the executor, asks for the next. What has come is removed with it unless all
// of it came. It lives until gRPC is done with it and no piece is being handled.
class ImportReactor final : public grpc::ServerReadReactor<v1::ImportCheckpointRequest> {
 public:
  static grpc::ServerReadReactor<v1::ImportCheckpointRequest>* Start(ApiContext& api, CheckpointTool& tool,
                                                                     grpc::CallbackServerContext* context,
                                                                     v1::ImportCheckpointResponse* response) {
    auto reactor = std::make_shared<ImportReactor>(api, tool, response);
    reactor->self_ = reactor;
    if (grpc::Status status = Authorize(*context, api.token); !status.ok()) {
      reactor->End(status);
    } else {
      reactor->StartRead(&reactor->incoming_);
    }
    return reactor.get();
  }
  ImportReactor(ApiContext& api, CheckpointTool& tool, v1::ImportCheckpointResponse* response)
      : api_(api), tool_(tool), response_(response) {}

 private:
  void End(const grpc::Status& status) {
    std::lock_guard lock(mutex_);
    if (finished_) return;
    finished_ = true;
    Finish(status);
  }

  void OnReadDone(bool ok) override {
    api_.executor.Post([self = self_, ok] { ok ? self->Take() : self->Complete(); });
  }

  void Take() {
    const absl::Status status = Handle();
    if (!status.ok()) {
      End(ToGrpc(status));
      return;
    }
    std::lock_guard lock(mutex_);
    if (!finished_) StartRead(&incoming_);
  }

  absl::Status Handle() {
    if (incoming_.has_header() == (import_ != nullptr)) {
      return absl::InvalidArgumentError("a header must come first, and then only pieces");
    }
    if (import_ != nullptr) return import_->Append(incoming_.piece());
    absl::StatusOr<std::unique_ptr<WeightsImport>> import = WeightsImport::Begin(api_.home, incoming_.header());
    if (!import.ok()) return import.status();
    import_ = *std::move(import);
    return absl::OkStatus();
  }

  // The client has sent everything, or has gone.
  void Complete() {
    {
      std::lock_guard lock(mutex_);
      if (finished_) return;
    }
    if (import_ == nullptr) {
      End({grpc::StatusCode::INVALID_ARGUMENT, "nothing was sent"});
      return;
    }
    const absl::StatusOr<v1::ImportCheckpointResponse> result = import_->Finish(tool_);
    std::lock_guard lock(mutex_);
    if (finished_) return;  // the client has gone meanwhile; gRPC may have freed the response
    finished_ = true;
    if (result.ok()) *response_ = *result;
    Finish(result.ok() ? grpc::Status::OK : ToGrpc(result.status()));
  }

  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    // Removing files may block.
    api_.executor.Post([self = std::move(self_)] {});
  }

  ApiContext& api_;
  CheckpointTool& tool_;
  v1::ImportCheckpointResponse* const response_;
  std::shared_ptr<ImportReactor> self_;
  v1::ImportCheckpointRequest incoming_;
  std::unique_ptr<WeightsImport> import_;
  std::mutex mutex_;
  bool finished_ = false;
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
    return ImportReactor::Start(api_, tool_, context, response);
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
