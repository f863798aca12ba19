// One upload of weights, from its first byte to $DDPD_HOME/imports/ID/model.safetensors.
#ifndef DDP_SERVER_API_WEIGHTS_IMPORT_H_
#define DDP_SERVER_API_WEIGHTS_IMPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files.h"
#include "ddp/v1/checkpoint.pb.h"
#include "server/api/checkpoint_tool.h"

namespace ddp {

inline constexpr int64_t kLargestImport = int64_t{64} << 30;

// Everything lies in a temporary folder that is renamed at the end and otherwise removed. Not thread-safe.
class WeightsImport {
 public:
  // InvalidArgument: no size. ResourceExhausted: too large, or no room on the disk.
  static absl::StatusOr<std::unique_ptr<WeightsImport>> Begin(const std::string& home, const v1::WeightsHeader& header);
  ~WeightsImport();

  absl::Status Append(std::string_view piece);
  // InvalidArgument unless all announced bytes have come and are weights.
  absl::StatusOr<v1::ImportCheckpointResponse> Finish(CheckpointTool& tool);

 private:
  WeightsImport(std::string folder, std::string id) : folder_(std::move(folder)), id_(std::move(id)) {}
  std::string temporary() const;

  const std::string folder_;
  const std::string id_;
  std::string shown_name_;
  int64_t announced_ = 0;
  int64_t received_ = 0;
  UniqueFd upload_;
};

}  // namespace ddp

#endif  // DDP_SERVER_API_WEIGHTS_IMPORT_H_
