#include "worker/report/checkpoint_io.h"

#include "ddp/v1/checkpoint.pb.h"

namespace ddp {

std::string SerializeDescriptions(const std::vector<CheckpointDescription>& checkpoints) {
  v1::ListCheckpointsResponse response;
  for (const CheckpointDescription& from : checkpoints) {
    v1::Checkpoint& to = *response.add_checkpoints();
    to.set_step(from.step);
    to.set_folder(from.folder);
    to.set_bytes(from.bytes);
    to.mutable_time()->set_seconds(from.time);
    to.set_attempt(static_cast<int32_t>(from.attempt));
    to.set_best(from.best);
    if (from.epoch) to.set_epoch(*from.epoch);
    if (from.valid_loss) to.set_valid_loss(*from.valid_loss);
    if (from.valid_accuracy) to.set_valid_accuracy(*from.valid_accuracy);
  }
  return response.SerializeAsString();
}

std::string SerializeConditions(const std::vector<std::pair<std::string, std::vector<Damage>>>& checked) {
  v1::VerifyCheckpointsResponse response;
  for (const auto& [folder, damages] : checked) {
    v1::CheckpointCondition& condition = *response.add_conditions();
    condition.set_step(CheckpointStep(folder.substr(folder.rfind('/') + 1)));
    condition.set_folder(folder);
    for (const Damage& damage : damages) {
      v1::FileDamage& to = *condition.add_damages();
      to.set_path(damage.path);
      to.set_expected(damage.expected);
      to.set_found(damage.found);
    }
  }
  return response.SerializeAsString();
}

std::string SerializeConverted(const Converted& converted) {
  v1::WeightsHeader header;
  header.set_bytes(static_cast<int64_t>(converted.bytes));
  header.set_xxh3_128(converted.xxh3_128);
  header.set_tensors(converted.tensors);
  return header.SerializeAsString();
}

}  // namespace ddp
