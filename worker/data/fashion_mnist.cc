#include "worker/data/fashion_mnist.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/data/idx.h"

namespace ddp {

namespace {

absl::StatusOr<NumericArray> ReadPart(const std::string& folder, const std::string& name, std::vector<int64_t> shape,
                                      bool header_only) {
  const std::string path = absl::StrCat(folder, "/", name);
  if (!Exists(path)) {
    return absl::NotFoundError(absl::StrCat(path,
                                            " is missing: the data set fashion-mnist needs the Debian package "
                                            "dataset-fashion-mnist (apt-get install dataset-fashion-mnist)"));
  }
  DDP_ASSIGN_OR_RETURN(NumericArray part, ReadIdx(path, header_only));
  if (part.shape != shape || part.type != NumberType::kU8) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": byte 4: not the shape of Fashion-MNIST"));
  }
  return part;
}

absl::StatusOr<RawSamples> ReadHalf(const std::string& folder, const std::string& prefix, int64_t n) {
  DDP_ASSIGN_OR_RETURN(const NumericArray images,
                       ReadPart(folder, prefix + "-images-idx3-ubyte.gz", {n, 28, 28}, false));
  DDP_ASSIGN_OR_RETURN(const NumericArray labels, ReadPart(folder, prefix + "-labels-idx1-ubyte.gz", {n}, false));
  RawSamples samples;
  samples.size = n;
  samples.image = {1, 28, 28};
  samples.feature_dim = 28 * 28;
  samples.pixels.assign(images.bytes.begin(), images.bytes.end());
  samples.label_names = FashionMnistClasses();
  for (int64_t i = 0; i < n; ++i) {
    const auto label = static_cast<unsigned char>(labels.bytes[static_cast<size_t>(i)]);
    if (label >= samples.label_names.size()) {
      return absl::InvalidArgumentError(absl::StrCat(labels.Place(i), "label ", static_cast<int>(label), " of ",
                                                     samples.label_names.size(), " classes"));
    }
    samples.labels.push_back(label);
  }
  return samples;
}

}  // namespace

const std::vector<std::string>& FashionMnistClasses() {
  static const std::vector<std::string> kClasses{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                 "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return kClasses;
}

absl::StatusOr<RawData> ReadFashionMnist(const std::string& folder) {
  RawData data;
  DDP_ASSIGN_OR_RETURN(data.train, ReadHalf(folder, "train", 60000));
  DDP_ASSIGN_OR_RETURN(data.valid, ReadHalf(folder, "t10k", 10000));
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
