#include "worker/dist/shm_backend.h"

#include <ATen/core/List.h>

#include <torch/csrc/distributed/c10d/Work.hpp>

namespace ddp {

namespace {

class DoneWork : public c10d::Work {
 public:
  DoneWork(c10d::OpType type, const std::vector<at::Tensor>& result)
      : c10d::Work(-1, type),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {
    future_->markCompleted(c10::IValue(result));
  }
  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds) override { return true; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

void CheckDense(const at::Tensor& t) {
  TORCH_CHECK(t.device().is_cpu() && t.is_contiguous(), "the shared-memory group takes contiguous CPU tensors");
}

}  // namespace

ShmBackend::ShmBackend(std::shared_ptr<ShmChannel> channel)
    : c10d::Backend(channel->rank(), channel->world_size()), channel_(std::move(channel)) {}

c10::intrusive_ptr<c10d::Work> ShmBackend::allreduce(std::vector<at::Tensor>& tensors,
                                                     const c10d::AllreduceOptions& options) {
  TORCH_CHECK(options.reduceOp == c10d::ReduceOp::SUM, "the shared-memory group can only sum");
  for (at::Tensor& t : tensors) {
    CheckDense(t);
    const auto n = static_cast<size_t>(t.numel());
    switch (t.scalar_type()) {
      case at::kFloat:
        channel_->AllReduceSum(t.data_ptr<float>(), n);
        break;
      case at::kDouble:
        channel_->AllReduceSum(t.data_ptr<double>(), n);
        break;
      case at::kLong:
        channel_->AllReduceSum(t.data_ptr<int64_t>(), n);
        break;
      default:
        TORCH_CHECK(false, "the shared-memory group cannot sum ", t.scalar_type());
    }
  }
  return c10::make_intrusive<DoneWork>(c10d::OpType::ALLREDUCE, tensors);
}

c10::intrusive_ptr<c10d::Work> ShmBackend::broadcast(std::vector<at::Tensor>& tensors,
                                                     const c10d::BroadcastOptions& options) {
  for (at::Tensor& t : tensors) {
    CheckDense(t);
    channel_->Broadcast(t.data_ptr(), t.nbytes(), static_cast<int>(options.rootRank));
  }
  return c10::make_intrusive<DoneWork>(c10d::OpType::BROADCAST, tensors);
}

c10::intrusive_ptr<c10d::Work> ShmBackend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                                     std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions&) {
  TORCH_CHECK(inputs.size() == 1 && outputs.size() == 1, "the shared-memory group gathers one tensor at a time");
  const at::Tensor& in = inputs[0];
  CheckDense(in);
  std::vector<std::byte> all(in.nbytes() * static_cast<size_t>(getSize()));
  channel_->AllGather(in.data_ptr(), in.nbytes(), all.data());
  for (int r = 0; r < getSize(); ++r) {
    CheckDense(outputs[0][r]);
    std::memcpy(outputs[0][r].data_ptr(), all.data() + r * in.nbytes(), in.nbytes());
  }
  return c10::make_intrusive<DoneWork>(c10d::OpType::ALLGATHER, outputs[0]);
}

c10::intrusive_ptr<c10d::Work> ShmBackend::barrier(const c10d::BarrierOptions&) {
  channel_->Barrier();
  return c10::make_intrusive<DoneWork>(c10d::OpType::BARRIER, std::vector<at::Tensor>{});
}

}  // namespace ddp
