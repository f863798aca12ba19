#include "worker/report/standalone_spec.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/checkpoint_folders.h"
#include "common/cores.h"
#include "common/status_macros.h"
#include "ddp/v1/worker.pb.h"
#include "spec/excerpt.h"
#include "spec/init_from.h"
#include "spec/spec_defaults.h"
#include "spec/spec_json.h"
#include "spec/spec_validation.h"
#include "worker/report/config_io.h"

namespace ddp {

namespace {

constexpr size_t kMaxSpecBytes = size_t{1} << 20;

// (field, what is wrong), one a line.
class Violations {
 public:
  void Add(const std::string& field, const std::string& text) {
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", field, ": ", text);
  }
  void Add(const CheckOutput& output) {
    for (const auto& [field, text] : output.violations) Add(field, text);
  }
  absl::Status ToStatus() const { return text_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(text_); }

 private:
  std::string text_;
};

absl::Status InFile(const std::string& file, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(file, ": ", std::string(status.message())));
}

absl::StatusOr<v1::JobSpec> ReadSpec(const std::string& file) {
  DDP_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxSpecBytes));
  absl::StatusOr<v1::JobSpec> spec = SpecFromJson(text);
  if (!spec.ok()) return InFile(file, spec.status());
  return spec;
}

// The path, when init_from is one.
std::string CheckInitFrom(const std::string& text, Violations& violations) {
  const absl::StatusOr<InitFrom> from = ParseInitFrom(text);
  if (from.ok() && from->kind != InitFrom::Kind::kJob) return from->path;
  violations.Add("training.init_from",
                 absl::StrCat(from.ok() ? "names a job, and there is no daemon here to ask for it: give" : "must be",
                              " the absolute path of a checkpoint folder or a .safetensors file, got ", Excerpt(text)));
  return "";
}

void AskParent(const std::string& folder, const std::function<CheckOutput(const CheckInput&)>& check,
               v1::Training& child, Violations& violations) {
  CheckInput input;
  input.init_path = folder;
  input.parent_only = true;
  const CheckOutput output = check(input);
  violations.Add(output);
  if (!output.parent) return;
  v1::Training parent;
  parent.mutable_model()->set_name(output.parent->model_name);
  parent.mutable_model()->mutable_options()->insert(output.parent->model_options.begin(),
                                                    output.parent->model_options.end());
  parent.mutable_data()->set_max_tokens(static_cast<int32_t>(output.parent->max_tokens));
  TakeFromParent(parent, child);
}

// Fills in the defaults and finds what is wrong, in the order of JobManager::Submit.
absl::Status Complete(v1::JobSpec& spec, const StandaloneOptions& options,
                      const std::function<CheckOutput(const CheckInput&)>& check, std::string* init_path,
                      std::vector<std::string>* notices) {
  const MachineFacts machine{
      .slots = 1, .has_gpus = options.has_gpus, .no_gpu_reason = "it takes ddp-worker-cuda, and a GPU"};
  Violations violations;
  if (spec.resources().has_nproc() && spec.resources().nproc() != 1) {
    violations.Add("resources.nproc", absl::StrCat("a worker without a daemon is one rank: leave it out or set it to "
                                                   "1, or use ddpctl submit; got ",
                                                   spec.resources().nproc()));
    spec.mutable_resources()->set_nproc(1);
  }
  if (spec.has_training()) {
    *init_path = CheckInitFrom(spec.training().init_from(), violations);
    if (NeedsDescription(spec.training(), *init_path)) {
      AskParent(*init_path, check, *spec.mutable_training(), violations);
    }
  }
  FillDefaults(spec, machine);
  for (const v1::FieldViolation& v : Validate(spec, machine)) violations.Add(v.field(), v.description());
  DDP_RETURN_IF_ERROR(violations.ToStatus());

  CheckInput input;
  DDP_ASSIGN_OR_RETURN(input.training, TrainingFromProto(spec));
  input.init_path = *init_path;
  input.cuda = spec.resources().device() == v1::DEVICE_CUDA;
  const CheckOutput output = check(input);
  violations.Add(output);
  *notices = output.notices;
  return violations.ToStatus();
}

// What training depends on.
v1::JobSpec Essence(v1::JobSpec spec) {
  spec.clear_name();
  spec.clear_tags();
  spec.clear_priority();
  spec.clear_max_restarts();
  return spec;
}

// A checkpoint goes on only with the spec that made it. The complete spec stands beside the checkpoints.
absl::Status ClaimFolder(const std::string& folder, const v1::JobSpec& spec) {
  const std::string path = folder + "/spec.json";
  if (Exists(path) && !ListCheckpoints(folder + "/checkpoints").empty()) {
    DDP_ASSIGN_OR_RETURN(const v1::JobSpec before, ReadSpec(path));
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    if (!differencer.Compare(Essence(before), Essence(spec))) {
      const std::vector<std::string> lines = absl::StrSplit(std::string(absl::StripSuffix(differences, "\n")), '\n');
      return absl::FailedPreconditionError(
          absl::StrCat(folder, " holds checkpoints of another spec (", absl::StrJoin(lines, "; "),
                       "): take that one again, choose another --out, or remove the folder"));
    }
  }
  google::protobuf::util::JsonPrintOptions print;
  print.add_whitespace = true;
  print.preserve_proto_field_names = true;
  std::string json;
  if (const auto status = google::protobuf::util::MessageToJsonString(spec, &json, print); !status.ok()) {
    return absl::InternalError(absl::StrCat("cannot write the spec as JSON: ", status.message().ToString()));
  }
  return WriteFileAtomic(path, json);
}

}  // namespace

absl::StatusOr<StandalonePlan> PlanStandalone(const StandaloneOptions& options,
                                              const std::function<CheckOutput(const CheckInput&)>& check) {
  StandalonePlan plan;
  plan.folder = std::filesystem::absolute(options.out).lexically_normal().string();
  DDP_ASSIGN_OR_RETURN(v1::JobSpec spec, ReadSpec(options.spec_file));
  std::string init_path;
  if (const absl::Status status = Complete(spec, options, check, &init_path, &plan.notices); !status.ok()) {
    return status;
  }
  DDP_RETURN_IF_ERROR(MakeFolders(plan.folder + "/checkpoints"));
  DDP_ASSIGN_OR_RETURN(std::optional<UniqueFd> lock, TryLockFile(plan.folder + "/lock"));
  if (!lock) {
    return absl::FailedPreconditionError(
        absl::StrCat(plan.folder, " is in use by another ddp-worker: wait for its end, or choose another --out"));
  }
  plan.lock = *std::move(lock);
  DDP_RETURN_IF_ERROR(ClaimFolder(plan.folder, spec));
  v1::Launch launch;
  launch.set_format_version(1);
  launch.set_job_id("standalone");
  launch.set_attempt(1);
  *launch.mutable_spec() = std::move(spec);
  launch.set_checkpoint_dir(plan.folder + "/checkpoints");
  launch.set_init_path(init_path);
  launch.set_token_cache(plan.folder + "/cache/tokens");
  launch.set_threads_per_rank(UsableCores());
  plan.launch = launch.SerializeAsString();
  return plan;
}

}  // namespace ddp
