#include "worker/data/idx.h"

#include <zlib.h>

#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

constexpr int64_t kPixels = 28 * 28;

struct GzClose {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

absl::StatusOr<IdxBytes> ReadPart(const std::string& folder, const std::string& name, std::vector<int64_t> shape,
                                  bool header_only) {
  const std::string path = absl::StrCat(folder, "/", name);
  if (!Exists(path)) {
    return absl::NotFoundError(absl::StrCat(path,
                                            " is missing: the data set fashion-mnist needs the Debian package "
                                            "dataset-fashion-mnist (apt-get install dataset-fashion-mnist)"));
  }
  DDP_ASSIGN_OR_RETURN(IdxBytes part, ReadIdxGz(path, header_only));
  if (part.shape != shape)
    return absl::InvalidArgumentError(absl::StrCat(path, ": byte 4: not the shape of Fashion-MNIST"));
  return part;
}

absl::StatusOr<RawSamples> ReadHalf(const std::string& folder, const std::string& prefix, int64_t n) {
  DDP_ASSIGN_OR_RETURN(IdxBytes images, ReadPart(folder, prefix + "-images-idx3-ubyte.gz", {n, 28, 28}, false));
  DDP_ASSIGN_OR_RETURN(const IdxBytes labels, ReadPart(folder, prefix + "-labels-idx1-ubyte.gz", {n}, false));
  RawSamples samples;
  samples.size = n;
  samples.feature_dim = kPixels;
  samples.pixels = std::move(images.values);
  samples.label_names = FashionMnistClasses();
  for (size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] >= samples.label_names.size()) {
      return absl::InvalidArgumentError(absl::StrCat(folder, "/", prefix, "-labels-idx1-ubyte.gz: byte ", 8 + i,
                                                     ": label ", static_cast<int>(labels.values[i])));
    }
    samples.labels.push_back(labels.values[i]);
  }
  return samples;
}

// Mean and standard deviation of all pixels as parts of 1: whole sums, so exact.
void Normalise(const std::vector<uint8_t>& pixels, RawSamples* samples) {
  uint64_t sum = 0;
  uint64_t squares = 0;
  for (const uint8_t p : pixels) {
    sum += p;
    squares += static_cast<uint64_t>(p) * p;
  }
  const auto n = static_cast<double>(pixels.size());
  const double mean = static_cast<double>(sum) / n;
  const double variance = static_cast<double>(squares) / n - mean * mean;
  samples->pixel_mean = static_cast<float>(mean / 255);
  samples->pixel_std = static_cast<float>(std::sqrt(variance) / 255);
}

}  // namespace

const std::vector<std::string>& FashionMnistClasses() {
  static const std::vector<std::string> kClasses{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return kClasses;
}

absl::StatusOr<IdxBytes> ReadIdxGz(const std::string& path, bool header_only) {
  const std::unique_ptr<gzFile_s, GzClose> file(gzopen(path.c_str(), "rbe"));
  if (file == nullptr) return ErrnoStatus(errno, absl::StrCat("cannot open ", path));
  gzbuffer(file.get(), 1 << 18);
  const auto wrong = [&](int64_t at, const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": byte ", at, ": ", what));
  };
  const auto read = [&](void* into, size_t bytes) {
    return gzread(file.get(), into, static_cast<unsigned>(bytes)) == static_cast<int>(bytes);
  };
  unsigned char magic[4];
  if (!read(magic, 4)) return wrong(0, "the file ends inside the header");
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != 8 || magic[3] < 1 || magic[3] > 4) {
    return wrong(0, "no IDX file of bytes");
  }
  IdxBytes idx;
  int64_t total = 1;
  for (int d = 0; d < magic[3]; ++d) {
    unsigned char size[4];
    if (!read(size, 4)) return wrong(4 + 4 * d, "the file ends inside the header");
    idx.shape.push_back(size[0] << 24 | size[1] << 16 | size[2] << 8 | size[3]);
    if (__builtin_mul_overflow(total, idx.shape.back(), &total) || total > int64_t{1} << 30) {
      return wrong(4 + 4 * d, "the sizes are too large");
    }
  }
  if (header_only) return idx;
  idx.values.resize(static_cast<size_t>(total));
  const int64_t header = 4 + 4 * magic[3];
  if (!read(idx.values.data(), idx.values.size())) return wrong(header, absl::StrCat("fewer than ", total, " values"));
  char more = 0;
  if (gzread(file.get(), &more, 1) != 0) return wrong(header + total, "bytes behind the last value");
  return idx;
}

absl::StatusOr<RawData> ReadFashionMnist(const std::string& folder) {
  RawData data;
  DDP_ASSIGN_OR_RETURN(data.train, ReadHalf(folder, "train", 60000));
  DDP_ASSIGN_OR_RETURN(data.valid, ReadHalf(folder, "t10k", 10000));
  Normalise(data.train.pixels, &data.train);
  data.valid->pixel_mean = data.train.pixel_mean;
  data.valid->pixel_std = data.train.pixel_std;
  data.fixed_classes = true;
  return data;
}

absl::Status ProbeFashionMnist(const std::string& folder) {
  DDP_RETURN_IF_ERROR(ReadPart(folder, "train-images-idx3-ubyte.gz", {60000, 28, 28}, true).status());
  DDP_RETURN_IF_ERROR(ReadPart(folder, "train-labels-idx1-ubyte.gz", {60000}, true).status());
  DDP_RETURN_IF_ERROR(ReadPart(folder, "t10k-images-idx3-ubyte.gz", {10000, 28, 28}, true).status());
  return ReadPart(folder, "t10k-labels-idx1-ubyte.gz", {10000}, true).status();
}

}  // namespace ddp
