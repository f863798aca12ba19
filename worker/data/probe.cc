#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/array_files.h"
#include "worker/data/dataset.h"
#include "worker/data/fashion_mnist.h"
#include "worker/data/idx.h"
#include "worker/data/source.h"
#include "worker/data/token_windows.h"
#include "worker/data/wordnet.h"
#include "worker/formats/input_file.h"
#include "worker/formats/zip.h"

namespace ddp {

namespace {

constexpr size_t kProbeBytes = size_t{32} << 20;
constexpr int64_t kMinimumRows = 1000;
constexpr uint64_t kSmallArrays = uint64_t{8} << 20;

void Limit(const DataSpec& spec, Probe* probe) {
  if (spec.limit == 0 || spec.limit > probe->train_rows) return;
  probe->train_rows = spec.limit;
  probe->complete = true;  // as many as there will be, however many there are
}

// Each label once.
class LabelNotes {
 public:
  LabelNotes(const RawSamples& samples, const char* field, Probe* probe)
      : samples_(samples), field_(field), seen_(samples.label_names.size(), false), probe_(probe) {}
  void Add(int64_t row) {
    if (samples_.labels.empty()) return;  // no classes
    const auto label = static_cast<size_t>(samples_.labels[static_cast<size_t>(row)]);
    if (!seen_[label]) probe_->labels.push_back({samples_.label_names[label], field_});
    seen_[label] = true;
  }

 private:
  const RawSamples& samples_;
  const char* const field_;
  std::vector<bool> seen_;
  Probe* const probe_;
};

// Rows that stay for training out of a sample of them, and the labels that will be met in them. `in_order`: training
// takes them in this order, so it is known which ones a limit leaves.
void Count(const RawSamples& samples, const DataSpec& spec, bool hold_out, bool in_order, Probe* probe) {
  probe->rows = samples.size;
  probe->has_text = samples.has_text;
  probe->feature_dim = samples.feature_dim;
  probe->image = samples.image;
  probe->complete = samples.whole;
  LabelNotes notes(samples, kSourceField, probe);
  std::vector<int64_t> held_out;
  for (int64_t i = 0; i < samples.size; ++i) {
    if (hold_out && HeldOut(ContentHash(samples, i), spec.valid_fraction)) {
      held_out.push_back(i);
    } else {
      if (spec.limit == 0 || (in_order && probe->train_rows < spec.limit)) notes.Add(i);
      ++probe->train_rows;
    }
  }
  for (const int64_t i : held_out) notes.Add(i);
  Limit(spec, probe);
}

absl::Status CheckSecondFile(const RawSamples& train, const absl::StatusOr<RawSamples>& valid, const DataSpec& spec,
                             Probe* probe) {
  if (!valid.ok()) return valid.status();
  LabelNotes notes(*valid, kValidField, probe);
  for (int64_t i = 0; i < valid->size; ++i) notes.Add(i);
  return CheckPair(train, *valid, spec);
}

absl::Status ProbeRows(const DataSpec& spec, Format format, int64_t max_rows, Probe* probe) {
  const absl::StatusOr<RawSamples> samples =
      ReadRows(spec.source, format, spec, kSourceField, kProbeBytes, max_rows, nullptr);
  if (!samples.ok()) return samples.status();
  Count(*samples, spec, spec.valid.empty(), /*in_order=*/true, probe);
  if (probe->rows == 0) return FieldError(kSourceField, absl::StrCat(spec.source, " has no samples"));
  if (samples->whole && spec.label_kind == LabelKind::kClass) probe->class_names = samples->label_names;
  if (spec.valid.empty() || spec.valid == "none") return absl::OkStatus();
  return CheckSecondFile(*samples, ReadRows(spec.valid, format, spec, kValidField, kProbeBytes, kMinimumRows, nullptr),
                         spec, probe);
}

// Bytes of the arrays once they are read: what a packed file says of itself, which is what its reader takes.
absl::StatusOr<uint64_t> UnpackedBytes(const std::string& path, Format format) {
  if (format == Format::kIdx) {
    DDP_ASSIGN_OR_RETURN(const NumericArray array, ReadIdx(path, /*header_only=*/true));
    return static_cast<uint64_t>(array.size()) * BytesOf(array.type);
  }
  if (format == Format::kNpz) {
    DDP_ASSIGN_OR_RETURN(const ZipReader zip, ZipReader::Open(path));
    uint64_t most = 0;
    for (const auto& [name, entry] : zip.entries()) most = std::max(most, entry.bytes);
    return most;
  }
  DDP_ASSIGN_OR_RETURN(const OpenFile file, OpenInput(path));
  return file.size;
}

absl::StatusOr<bool> IsSmall(const ArraySource& source, const DataSpec& spec, Format format) {
  const absl::StatusOr<uint64_t> bytes = UnpackedBytes(source.path, format);
  if (!bytes.ok()) return FieldError(source.path_field, bytes.status());
  const bool has_labels = (format == Format::kIdx || format == Format::kNpy) && spec.label_kind != LabelKind::kNone;
  if (*bytes > kSmallArrays || !has_labels || source.labels.empty()) return *bytes <= kSmallArrays;
  const absl::StatusOr<uint64_t> of_labels = UnpackedBytes(source.labels, format);
  if (!of_labels.ok()) return FieldError(source.labels_field, of_labels.status());
  return *of_labels <= kSmallArrays;
}

// Small files completely; large ones by their headers, and how many samples will be held out is then not known.
absl::Status ProbeArrayFiles(const DataSpec& spec, Format format, Probe* probe) {
  const absl::StatusOr<bool> small = IsSmall(TrainArrays(spec, format), spec, format);
  if (!small.ok()) return small.status();
  const absl::StatusOr<RawSamples> train = (*small ? ReadArrays : ProbeArrays)(TrainArrays(spec, format), spec, format);
  if (!train.ok()) return train.status();
  if (*small) {
    Count(*train, spec, spec.valid.empty(), /*in_order=*/true, probe);
    probe->class_names = train->label_names;
  } else {
    probe->rows = train->size;
    probe->train_rows = spec.valid.empty() ? 0 : train->size;
    probe->complete = !spec.valid.empty();
    probe->feature_dim = train->feature_dim;
    probe->image = train->image;
    Limit(spec, probe);
  }
  if (spec.valid.empty() || spec.valid == "none") return absl::OkStatus();
  const absl::StatusOr<bool> small_valid = IsSmall(ValidArrays(spec, format), spec, format);
  if (!small_valid.ok()) return small_valid.status();
  if (*small && *small_valid) {
    return CheckSecondFile(*train, ReadArrays(ValidArrays(spec, format), spec, format), spec, probe);
  }
  const absl::StatusOr<RawSamples> valid = ProbeArrays(ValidArrays(spec, format), spec, format);
  if (!valid.ok()) return valid.status();
  // A header does not say whether both are pixels.
  return train->feature_dim == valid->feature_dim ? absl::OkStatus() : CheckPair(*train, *valid, spec);
}

absl::Status ProbeTokens(const DataSpec& spec, Probe* probe) {
  // Open: a job that goes on has its vocabulary in its own checkpoint. This is the largest one for files of any type.
  constexpr int64_t kAnyVocabulary = 65536;
  const int64_t vocabulary = spec.vocab_size > 0 ? spec.vocab_size : kAnyVocabulary;
  const absl::StatusOr<TokenData> tokens = OpenTokenWindows(spec, vocabulary);
  if (!tokens.ok()) return tokens.status();
  probe->has_text = true;
  probe->vocabulary = spec.vocab_size;
  probe->rows = tokens->train->size();
  probe->train_rows = probe->rows;
  probe->complete = true;
  return absl::OkStatus();
}

absl::Status ProbeFile(const DataSpec& spec, Format format, int64_t max_rows, Probe* probe) {
  if (absl::Status status = CheckFormat(spec, format); !status.ok()) return status;
  if (format == Format::kTokens) return ProbeTokens(spec, probe);
  if (IsArrayFormat(format)) return ProbeArrayFiles(spec, format, probe);
  return ProbeRows(spec, format, max_rows, probe);
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
    Count(*samples, spec, spec.valid.empty(), /*in_order=*/false, probe);
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
    probe->image = {1, 28, 28};
    probe->class_names = FashionMnistClasses();
    // Both of its parts hold all of them.
    if (spec.label_kind == LabelKind::kClass && (spec.limit == 0 || spec.valid.empty())) {
      for (const std::string& name : probe->class_names) {
        probe->labels.push_back({name, spec.limit == 0 ? kSourceField : kValidField});
      }
    }
    return absl::OkStatus();
  }
  const std::optional<Format> format = FormatOf(spec.source);
  return format ? ProbeFile(spec, *format, max_rows, probe) : UnknownSource(spec.source);
}

absl::Status ProbeTokenizer(const DataSpec& spec, Probe* probe) {
  const absl::StatusOr<std::optional<Tokenizer>> named = NamedTokenizer(spec);
  if (!named.ok()) return named.status();
  if (*named) probe->vocabulary = (*named)->vocab_size();
  return absl::OkStatus();
}

}  // namespace

Probe ProbeDataset(const DataSpec& spec, int64_t need_rows) {
  Probe probe;
  absl::Status status = ProbeInto(spec, need_rows, &probe);
  if (status.ok() && probe.has_text && probe.vocabulary == 0) status = ProbeTokenizer(spec, &probe);
  if (!status.ok()) probe.problems.push_back(ProblemOf(status));
  return probe;
}

}  // namespace ddp
