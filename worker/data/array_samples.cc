#include "worker/data/array_samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace ddp {

namespace {

constexpr size_t kMaxClasses = 1'000'000;

// "CxHxW", each from 1 to a million.
bool ParseImageShape(std::string_view text, ImageShape* shape) {
  const char* at = text.data();
  const char* end = at + text.size();
  for (int64_t* size : {&shape->channels, &shape->height, &shape->width}) {
    if (size != &shape->channels && (at == end || *at++ != 'x')) return false;
    const auto [next, error] = std::from_chars(at, end, *size);
    if (error != std::errc() || *size < 1 || *size > 1'000'000) return false;
    at = next;
  }
  return at == end;
}

}  // namespace

absl::Status ApplyImageShape(const DataSpec& spec, const std::string& source, RawSamples* samples) {
  if (spec.image_shape.empty()) return absl::OkStatus();
  ImageShape shape;
  if (!ParseImageShape(spec.image_shape, &shape)) {
    return FieldError(kImageShapeField,
                      absl::StrCat("must be CxHxW, as in \"3x32x32\", got \"", EscapeControls(spec.image_shape), "\""));
  }
  const int64_t values = shape.channels * shape.height * shape.width;
  if (values != samples->feature_dim) {
    return FieldError(kImageShapeField, absl::StrCat("\"", spec.image_shape, "\" has ", values, " values, a sample of ",
                                                     source, " has ", samples->feature_dim));
  }
  samples->image = shape;
  return absl::OkStatus();
}

absl::StatusOr<RawSamples> ArrayShape(const NumericArray& array, const DataSpec& spec, std::string_view field) {
  const auto wrong = [&](const std::string& what) {
    return FieldError(field, absl::StrCat(array.name, ": the shape ", ShapeText(array.shape), " ", what));
  };
  if (array.shape.size() < 2) {
    return wrong(
        "has no dimension of features (are these the labels?); samples are [n, features], [n, height, width] or "
        "[n, channels, height, width]");
  }
  RawSamples samples;
  samples.size = array.shape[0];
  // First: readers check the product, and behind a zero that says nothing of the other sizes.
  if (samples.size == 0) return wrong("has no samples");
  samples.feature_dim = 1;
  for (size_t d = 1; d < array.shape.size(); ++d) samples.feature_dim *= array.shape[d];
  if (samples.feature_dim == 0) return wrong("has samples without a value");
  if (array.shape.size() == 3) samples.image = {1, array.shape[1], array.shape[2]};
  if (array.shape.size() == 4) samples.image = {array.shape[1], array.shape[2], array.shape[3]};
  if (samples.image.channels > 4 && (samples.image.width == 1 || samples.image.width == 3) &&
      spec.image_shape.empty()) {
    return wrong(
        "looks like [n, height, width, channels]; save it as [n, channels, height, width], or say "
        "training.data.image_shape");
  }
  DDP_RETURN_IF_ERROR(ApplyImageShape(spec, array.name, &samples));
  return samples;
}

absl::StatusOr<RawSamples> ArraySamples(const NumericArray& array, const DataSpec& spec, std::string_view field) {
  DDP_ASSIGN_OR_RETURN(RawSamples samples, ArrayShape(array, spec, field));
  if (array.type == NumberType::kU8) {
    samples.pixels.assign(array.bytes.begin(), array.bytes.end());
    return samples;
  }
  const int64_t values = samples.size * samples.feature_dim;
  samples.features.reserve(static_cast<size_t>(values));
  for (int64_t i = 0; i < values; ++i) {
    const auto value = static_cast<float>(array.Number(i));
    if (!std::isfinite(value)) {
      return FieldError(field, absl::StrCat(array.Place(i), "sample ", i / samples.feature_dim, ": ", array.Text(i),
                                            " is not a finite float32"));
    }
    samples.features.push_back(value);
  }
  return samples;
}

absl::Status CheckLabelShape(const NumericArray& labels, int64_t samples, std::string_view field) {
  const bool flat = labels.shape.size() == 1 || (labels.shape.size() == 2 && labels.shape[1] == 1);
  if (!flat) {
    return FieldError(field, absl::StrCat(labels.name, ": the shape ", ShapeText(labels.shape),
                                          " is not that of labels, which have one dimension"));
  }
  if (labels.shape[0] != samples) {
    return FieldError(field, absl::StrCat(labels.name, " has ", labels.shape[0], " labels for ", samples, " samples"));
  }
  return absl::OkStatus();
}

absl::Status AddLabels(const NumericArray& labels, LabelKind kind, std::string_view field, RawSamples* samples) {
  DDP_RETURN_IF_ERROR(CheckLabelShape(labels, samples->size, field));
  if (kind == LabelKind::kNumber) {
    for (int64_t i = 0; i < samples->size; ++i) {
      samples->numbers.push_back(labels.Number(i));
      if (std::isfinite(samples->numbers.back())) continue;
      return FieldError(field, absl::StrCat(labels.Place(i), labels.Text(i), " is not a finite number"));
    }
    return absl::OkStatus();
  }
  if (!IsWhole(labels.type)) {
    return FieldError(field, absl::StrCat(labels.name, " holds ", NameOf(labels.type),
                                          "; classes are whole numbers (save them as an integer type)"));
  }
  std::map<int64_t, int64_t> classes;  // to the number; at first to a sample of the class
  for (int64_t i = 0; i < samples->size; ++i) classes.try_emplace(labels.Key(i), i);
  if (classes.size() > kMaxClasses) {
    return FieldError(field, absl::StrCat(labels.name, " holds ", classes.size(), " different labels; at most ",
                                          kMaxClasses, " classes can be learnt (are these numbers to learn?)"));
  }
  for (auto& [key, number] : classes) {
    samples->label_names.push_back(labels.Text(number));
    number = static_cast<int64_t>(samples->label_names.size()) - 1;
  }
  for (int64_t i = 0; i < samples->size; ++i)
    samples->labels.push_back(static_cast<int32_t>(classes.at(labels.Key(i))));
  return absl::OkStatus();
}

}  // namespace ddp
