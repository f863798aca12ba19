#include <algorithm>

#include "absl/strings/str_cat.h"
#include "worker/data/dataset.h"
#include "worker/data/idx.h"
#include "worker/data/input_file.h"
#include "worker/data/source.h"
#include "worker/data/table.h"
#include "worker/data/wordnet.h"

namespace ddp {

namespace {

constexpr size_t kProbeBytes = size_t{32} << 20;
constexpr int64_t kMinimumRows = 1000;

// Rows that stay for training out of a sample of them.
void Count(const RawSamples& samples, const DataSpec& spec, bool hold_out, Probe* probe) {
  probe->rows = samples.size;
  probe->has_text = samples.has_text;
  probe->feature_dim = samples.feature_dim;
  probe->complete = samples.whole;
  for (int64_t i = 0; i < samples.size; ++i) {
    if (!hold_out || !HeldOut(ContentHash(samples, i), spec.valid_fraction)) ++probe->train_rows;
  }
  if (spec.limit > 0 && spec.limit <= probe->train_rows) {
    probe->train_rows = spec.limit;
    probe->complete = true;  // as many as there will be, however many there are
  }
}

absl::Status ProbeTable(const DataSpec& spec, int64_t max_rows, Probe* probe) {
  const absl::StatusOr<InputFile> file = ReadInput(spec.source, kProbeBytes);
  if (!file.ok()) return FieldError(kSourceField, file.status());
  const absl::StatusOr<RawSamples> samples = ReadTable(spec.source, *file, spec, kSourceField, max_rows, nullptr);
  if (!samples.ok()) return samples.status();
  Count(*samples, spec, spec.valid.empty(), probe);
  if (probe->rows == 0) return FieldError(kSourceField, absl::StrCat(spec.source, " has a header, but no samples"));
  if (samples->whole && spec.label_kind == LabelKind::kClass) probe->class_names = samples->label_names;
  if (spec.valid.empty() || spec.valid == "none") return absl::OkStatus();
  if (!IsTablePath(spec.valid)) {
    return FieldError(kValidField, absl::StrCat("\"", spec.valid, "\" is neither \"none\" nor a .csv or .tsv file"));
  }
  const absl::StatusOr<InputFile> valid = ReadInput(spec.valid, kProbeBytes);
  if (!valid.ok()) return FieldError(kValidField, valid.status());
  return ReadTable(spec.valid, *valid, spec, kValidField, kMinimumRows, nullptr).status();
}

absl::Status ProbeInto(const DataSpec& spec, int64_t need_rows, Probe* probe) {
  const absl::StatusOr<std::optional<std::string>> part = WordnetPart(spec.source);
  if (!part.ok()) return part.status();
  // Some of the rows will be held out.
  const double kept = spec.valid.empty() ? 1 - std::min(spec.valid_fraction, 0.99) : 1;
  const int64_t max_rows =
      kMinimumRows + static_cast<int64_t>(static_cast<double>(std::min(need_rows, int64_t{1} << 20)) / kept);
  if (*part) {
    if (absl::Status status = CheckBuiltinSpec(spec); !status.ok()) return status;
    const absl::StatusOr<RawSamples> samples = ReadWordnet(kWordnetFolder, **part, max_rows, nullptr);
    if (!samples.ok()) return FieldError(kSourceField, samples.status());
    Count(*samples, spec, spec.valid.empty(), probe);
    if (spec.label_kind == LabelKind::kClass) probe->class_names = samples->label_names;
    return absl::OkStatus();
  }
  if (spec.source == "fashion-mnist") {
    if (absl::Status status = CheckBuiltinSpec(spec); !status.ok()) return status;
    if (absl::Status status = ProbeFashionMnist(kFashionMnistFolder); !status.ok())
      return FieldError(kSourceField, status);
    probe->rows = 60000;
    probe->train_rows = spec.limit > 0 ? std::min<int64_t>(spec.limit, 60000) : 60000;
    probe->complete = true;
    probe->feature_dim = 784;
    probe->image = {.channels = 1, .height = 28, .width = 28};
    probe->class_names = FashionMnistClasses();
    return absl::OkStatus();
  }
  if (IsTablePath(spec.source)) return ProbeTable(spec, max_rows, probe);
  return ReadSource(spec, nullptr).status();  // names the choices
}

}  // namespace

Probe ProbeDataset(const DataSpec& spec, int64_t need_rows) {
  Probe probe;
  const absl::Status status = ProbeInto(spec, need_rows, &probe);
  if (!status.ok()) probe.problems.push_back(ProblemOf(status));
  return probe;
}

}  // namespace ddp
