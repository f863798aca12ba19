#include "worker/data/array_files.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/data/array_samples.h"
#include "worker/data/idx.h"
#include "worker/data/npy.h"
#include "worker/formats/input_file.h"
#include "worker/formats/safetensors.h"
#include "worker/formats/zip.h"

namespace ddp {

namespace {

absl::StatusOr<NumericArray> ReadNpy(const std::string& path, bool header_only) {
  DDP_ASSIGN_OR_RETURN(InputFile file, ReadInput(path, header_only ? kNpyHeadBytes : static_cast<size_t>(-1)));
  return ParseNpy(std::move(file.content), path, header_only);
}

// "its arrays are a, b" for a name that is not there.
absl::Status NoArray(std::string_view field, const std::string& path, const std::string& name,
                     const std::vector<std::string>& names) {
  constexpr size_t kShown = 20;
  std::string list;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", "\"", EscapeControls(names[i]), "\"");
  }
  if (names.size() > kShown) absl::StrAppend(&list, " and ", names.size() - kShown, " more");
  const std::string arrays = names.empty() ? "it has none" : absl::StrCat("its arrays are ", list);
  if (name.empty()) return FieldError(field, absl::StrCat("not given: name an array of ", path, "; ", arrays));
  const std::string near = NearestName(name, names);
  return FieldError(field, absl::StrCat(path, " has no array \"", EscapeControls(name), "\"; ", arrays,
                                        near.empty() ? "" : absl::StrCat(". Did you mean \"", near, "\"?")));
}

std::string ArrayName(const std::string& path, const std::string& name) {
  return absl::StrCat(path, ": array \"", EscapeControls(name), "\"");
}

absl::StatusOr<NumericArray> ReadNpzArray(const std::string& path, const ZipReader& zip, const std::string& name,
                                          std::string_view field, bool header_only) {
  const ZipEntry* entry = zip.Find(name + ".npy");
  if (name.empty() || entry == nullptr) {
    std::vector<std::string> names;
    for (const auto& [file, _] : zip.entries()) {
      if (file.ends_with(".npy")) names.push_back(file.substr(0, file.size() - 4));
    }
    return NoArray(field, path, name, names);
  }
  absl::StatusOr<std::string> content = zip.ReadHead(*entry, header_only ? kNpyHeadBytes : entry->bytes);
  if (!content.ok()) return FieldError(field, content.status());
  absl::StatusOr<NumericArray> array = ParseNpy(*std::move(content), ArrayName(path, name), header_only);
  if (!array.ok()) return FieldError(field, array.status());
  return array;
}

absl::StatusOr<NumericArray> ReadTensor(const std::string& path, const SafetensorsFile& file, const std::string& name,
                                        std::string_view field, bool header_only) {
  static const std::map<std::string, NumberType> kTypes{
      {"U8", NumberType::kU8},    {"I8", NumberType::kI8},     {"U16", NumberType::kU16}, {"I16", NumberType::kI16},
      {"U32", NumberType::kU32},  {"I32", NumberType::kI32},   {"U64", NumberType::kU64}, {"I64", NumberType::kI64},
      {"F16", NumberType::kF16},  {"BF16", NumberType::kBF16}, {"F32", NumberType::kF32}, {"F64", NumberType::kF64},
      {"BOOL", NumberType::kBool}};
  const TensorInfo* info = file.Find(name);
  if (name.empty() || info == nullptr) {
    std::vector<std::string> names;
    for (const TensorInfo& tensor : file.tensors()) names.push_back(tensor.name);
    return NoArray(field, path, name, names);
  }
  NumericArray array{.name = ArrayName(path, name), .data_byte = info->begin, .shape = info->shape};
  const auto type = kTypes.find(info->dtype);
  if (type == kTypes.end())
    return FieldError(field, absl::StrCat(array.name, " is of the unreadable type ", info->dtype));
  array.type = type->second;
  if (header_only) return array;
  array.bytes.resize(info->bytes);
  if (absl::Status status = file.Read(*info, array.bytes.data()); !status.ok()) return FieldError(field, status);
  return array;
}

struct Pair {
  NumericArray samples;
  std::optional<NumericArray> labels;
};

// Two arrays of one file, each by name.
template <typename File, typename ReadOne>
absl::StatusOr<Pair> ReadNamed(const absl::StatusOr<File>& file, const ArraySource& source, const DataSpec& spec,
                               ReadOne read_one, bool header_only) {
  if (!file.ok()) return FieldError(source.path_field, file.status());
  const std::string name = spec.feature_columns.empty() ? "" : spec.feature_columns[0];
  Pair pair;
  DDP_ASSIGN_OR_RETURN(pair.samples, read_one(source.path, *file, name, kFeaturesField, header_only));
  if (spec.label_kind != LabelKind::kNone) {
    DDP_ASSIGN_OR_RETURN(pair.labels, read_one(source.path, *file, spec.label_column, kLabelField, header_only));
  }
  return pair;
}

absl::StatusOr<Pair> ReadPair(const ArraySource& source, const DataSpec& spec, Format format, bool header_only) {
  if (format == Format::kNpz) return ReadNamed(ZipReader::Open(source.path), source, spec, ReadNpzArray, header_only);
  if (format == Format::kSafetensors) {
    return ReadNamed(SafetensorsFile::Open(source.path), source, spec, ReadTensor, header_only);
  }
  const auto read_one = format == Format::kIdx ? ReadIdx : ReadNpy;
  absl::StatusOr<NumericArray> samples = read_one(source.path, header_only);
  if (!samples.ok()) return FieldError(source.path_field, samples.status());
  Pair pair{.samples = *std::move(samples)};
  if (spec.label_kind != LabelKind::kNone) {
    absl::StatusOr<NumericArray> labels = read_one(source.labels, header_only);
    if (!labels.ok()) return FieldError(source.labels_field, labels.status());
    pair.labels = *std::move(labels);
  }
  return pair;
}

bool IsNamed(Format format) { return format == Format::kNpz || format == Format::kSafetensors; }

std::string_view SamplesField(const ArraySource& source, Format format) {
  return IsNamed(format) ? std::string_view(kFeaturesField) : source.path_field;
}

}  // namespace

ArraySource TrainArrays(const DataSpec& spec, Format format) {
  return {spec.source, spec.labels, kSourceField, IsNamed(format) ? kLabelField : kLabelsField};
}

ArraySource ValidArrays(const DataSpec& spec, Format format) {
  return {spec.valid, spec.valid_labels, kValidField, IsNamed(format) ? kLabelField : kValidLabelsField};
}

absl::StatusOr<RawSamples> ReadArrays(const ArraySource& source, const DataSpec& spec, Format format) {
  DDP_ASSIGN_OR_RETURN(const Pair pair, ReadPair(source, spec, format, /*header_only=*/false));
  DDP_ASSIGN_OR_RETURN(RawSamples samples, ArraySamples(pair.samples, spec, SamplesField(source, format)));
  if (pair.labels) DDP_RETURN_IF_ERROR(AddLabels(*pair.labels, spec.label_kind, source.labels_field, &samples));
  return samples;
}

absl::StatusOr<RawSamples> ProbeArrays(const ArraySource& source, const DataSpec& spec, Format format) {
  DDP_ASSIGN_OR_RETURN(const Pair pair, ReadPair(source, spec, format, /*header_only=*/true));
  DDP_ASSIGN_OR_RETURN(RawSamples samples, ArrayShape(pair.samples, spec, SamplesField(source, format)));
  if (pair.labels) DDP_RETURN_IF_ERROR(CheckLabelShape(*pair.labels, samples.size, source.labels_field));
  return samples;
}

}  // namespace ddp
