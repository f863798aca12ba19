// Shows Python what a model computes, without a daemon: model_probe CONFIG.json, with
//   model, options, objective, shape (vocab, max_tokens, features, classes, channels, height, width)
//   weights, inputs   safetensors files; inputs holds the fields of Batch that the model reads, by their names
//   steps, lr         full-batch steps of plain SGD on the mean loss
//   out               the safetensors file to write: logits (before the first step), loss and correct (of each step, as
//                     sums), count, grad.NAME (of the first step's sum), param.NAME, buffer.NAME and final_loss (in
//                     evaluation) after the last step
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "worker/formats/safetensors.h"
#include "worker/models/registry.h"
#include "worker/train/initial_weights.h"

namespace ddp {
namespace {

using Json = nlohmann::json;

template <typename T>
T OrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}

at::ScalarType TypeOf(const std::string& dtype) {
  if (dtype == "F32") return at::kFloat;
  if (dtype == "I64") return at::kLong;
  if (dtype == "BOOL") return at::kBool;
  throw std::runtime_error("inputs: unexpected dtype " + dtype);
}

Batch ReadBatch(const std::string& path) {
  const SafetensorsFile file = OrThrow(SafetensorsFile::Open(path));
  Batch batch;
  const std::map<std::string, at::Tensor*> fields{{"tokens", &batch.tokens},         {"mask", &batch.mask},
                                                  {"predict_at", &batch.predict_at}, {"targets", &batch.targets},
                                                  {"features", &batch.features},     {"clean", &batch.clean},
                                                  {"classes", &batch.classes},       {"numbers", &batch.numbers}};
  for (const TensorInfo& info : file.tensors()) {
    at::Tensor tensor = at::empty(info.shape, TypeOf(info.dtype));
    if (const absl::Status status = file.Read(info, tensor.mutable_data_ptr()); !status.ok()) {
      throw std::runtime_error(std::string(status.message()));
    }
    *fields.at(info.name) = tensor;
    if (info.name == "tokens" || info.name == "features") batch.size = tensor.size(0);
  }
  return batch;
}

ModelShape ReadShape(const Json& config) {
  ModelShape shape;
  for (const Objective o : {Objective::kMlm, Objective::kEmbedding, Objective::kClassification, Objective::kRegression,
                            Objective::kClm, Objective::kDenoising}) {
    if (config.at("objective") == ObjectiveName(o)) shape.objective = o;
  }
  const std::map<std::string, int64_t*> fields{{"vocab", &shape.vocab},       {"max_tokens", &shape.max_tokens},
                                               {"features", &shape.features}, {"classes", &shape.classes},
                                               {"channels", &shape.channels}, {"height", &shape.height},
                                               {"width", &shape.width}};
  for (const auto& [name, value] : config.at("shape").items()) *fields.at(name) = value.get<int64_t>();
  return shape;
}

class Output {
 public:
  void Add(const std::string& name, const at::Tensor& tensor) {
    tensors_.emplace_back(name, tensor.detach().contiguous().clone());
  }
  void Write(const std::string& path) const {
    std::vector<TensorBytes> bytes;
    for (const auto& [name, tensor] : tensors_) {
      bytes.push_back({.name = name,
                       .dtype = tensor.scalar_type() == at::kDouble ? "F64" : "F32",
                       .shape = tensor.sizes().vec(),
                       .data = tensor.const_data_ptr(),
                       .bytes = tensor.nbytes()});
    }
    std::ofstream file(path, std::ios::binary);
    file << SafetensorsHeader(bytes, {});
    for (const TensorBytes& tensor : bytes) {
      file.write(static_cast<const char*>(tensor.data), static_cast<std::streamsize>(tensor.bytes));
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  }

 private:
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

double Evaluate(Model& model, const Batch& batch) {
  at::NoGradGuard no_grad;
  return model.Loss(batch, /*training=*/false).loss.item<double>();
}

void Run(const Json& config) {
  const std::unique_ptr<Model> model =
      OrThrow(MakeModel(config.at("model"), config.at("options").get<std::map<std::string, std::string>>(),
                        ReadShape(config), /*seed=*/0));
  std::printf("%s\n", OrThrow(LoadInitialWeights(config.at("weights"), {}, *model)).ToString().c_str());
  const Batch batch = ReadBatch(config.at("inputs"));
  Output output;
  {
    at::NoGradGuard no_grad;
    output.Add("logits", model->Logits(batch));
  }
  std::vector<double> losses;
  std::vector<double> correct;
  double count = 0;
  for (int step = 0; step < config.at("steps").get<int>(); ++step) {
    const LossSums sums = model->Loss(batch, /*training=*/true);
    sums.loss.backward();
    losses.push_back(sums.loss.item<double>());
    if (sums.correct.defined()) correct.push_back(sums.correct.item<double>());
    count = static_cast<double>(sums.count);
    at::NoGradGuard no_grad;
    for (const auto& [name, tensor] : model->parameters()) {
      if (step == 0) output.Add("grad." + name, tensor.grad());
      at::Tensor values = tensor.detach();
      values.sub_(tensor.grad(), config.at("lr").get<double>() / count);
      tensor.grad().zero_();
    }
  }
  output.Add("loss", at::tensor(losses, at::kDouble));
  if (!correct.empty()) output.Add("correct", at::tensor(correct, at::kDouble));
  output.Add("count", at::tensor(count, at::kDouble));
  output.Add("final_loss", at::tensor(Evaluate(*model, batch), at::kDouble));
  for (const auto& [name, tensor] : model->parameters()) output.Add("param." + name, tensor);
  for (const auto& [name, tensor] : model->buffers()) output.Add("buffer." + name, tensor);
  output.Write(config.at("out"));
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: model_probe CONFIG.json\n");
    return 2;
  }
  try {
    at::set_num_threads(1);
    std::ifstream file(argv[1]);
    ddp::Run(nlohmann::json::parse(file));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "model_probe: %s\n", e.what());
    return 1;
  }
}
