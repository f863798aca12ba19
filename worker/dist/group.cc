#include "worker/dist/group.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/from_blob.h>

#include <cstring>
#include <string_view>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "absl/strings/str_cat.h"
#include "worker/dist/shm_backend.h"

namespace ddp {

namespace {

// A rank that is a minute late for the rendezvous is not coming: the runner sees deaths at once, this is for hangs.
constexpr std::chrono::seconds kRendezvousTimeout{60};
constexpr std::chrono::minutes kCollectiveTimeout{30};

c10::intrusive_ptr<c10d::Store> OpenStore(const WorkerConfig& config) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(config.store_port);
  options.isServer = config.rank == 0;
  if (options.isServer) options.masterListenFd = config.store_fd;
  options.numWorkers = static_cast<size_t>(config.world_size);
  // Nobody has to wait for everybody here: the first get of a key waits for the one who sets it.
  options.waitWorkers = false;
  options.timeout = kRendezvousTimeout;
  auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  return c10::make_intrusive<c10d::PrefixStore>(absl::StrCat(config.job_id, "/", config.attempt), store);
}

// Counts for the group's sum time while it lives.
class SumClock {
 public:
  explicit SumClock(Group& group) : group_(group) {}
  SumClock(const SumClock&) = delete;
  SumClock& operator=(const SumClock&) = delete;
  ~SumClock() { group_.AddSumTime(std::chrono::steady_clock::now() - begin_); }

 private:
  Group& group_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

std::unique_ptr<Group> Group::Join(const WorkerConfig& config) {
  std::unique_ptr<Group> group(new Group);
  group->rank_ = config.rank;
  group->world_size_ = config.world_size;
  if (config.cuda) group->device_ = at::Device(at::kCUDA, 0);
  group->store_ = OpenStore(config);
  BackendParts parts;
  switch (config.backend) {
    case BackendKind::kShm: {
      auto channel = ShmChannel::Map(config.shm_fd, config.rank, config.world_size, kCollectiveTimeout);
      if (!channel.ok()) throw std::runtime_error(std::string(channel.status().message()));
      group->channel_ = std::make_shared<ShmChannel>(*std::move(channel));
      parts = {c10::make_intrusive<ShmBackend>(group->channel_), c10d::ProcessGroup::BackendType::CUSTOM};
      break;
    }
    case BackendKind::kGloo:
      parts = MakeGlooBackend(group->store_, config.rank, config.world_size);
      break;
    case BackendKind::kNccl:
      parts = MakeNcclBackend(group->store_, config.rank, config.world_size);
      break;
  }
  group->process_group_ = c10::make_intrusive<c10d::ProcessGroup>(group->store_, config.rank, config.world_size);
  group->process_group_->setBackend(group->device_.type(), parts.type, parts.backend);
  group->process_group_->setDefaultBackend(parts.type);
  return group;
}

Group::~Group() = default;

void Group::Sum(std::span<double> values) {
  if (world_size_ == 1) return;
  const SumClock clock(*this);
  if (channel_) {
    channel_->AllReduceSum(values.data(), values.size());
    return;
  }
  at::Tensor host = at::from_blob(values.data(), {static_cast<int64_t>(values.size())}, at::kDouble);
  at::Tensor device = host.to(device_);
  std::vector<at::Tensor> tensors{device};
  process_group_->allreduce(tensors)->wait();
  if (!device.is_same(host)) host.copy_(device);
}

void Group::SumOnDevice(const at::Tensor& values) {
  if (world_size_ == 1) return;
  const SumClock clock(*this);
  std::vector<at::Tensor> tensors{values};
  process_group_->allreduce(tensors)->wait();
}

bool Group::Any(bool mine) {
  double sum = mine ? 1 : 0;
  Sum({&sum, 1});
  return sum > 0;
}

std::string Group::FromRank0(const std::string& name, const std::string& text) {
  if (world_size_ == 1) return text;
  if (rank_ == 0) {
    store_->set(name, text);
    return text;
  }
  store_->wait({name}, kCollectiveTimeout);
  return store_->get_to_str(name);
}

void Group::BroadcastFromRank0(const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  if (world_size_ == 1) return;
  for (const auto& [name, t] : tensors) {
    // Groups take contiguous tensors only; the weights of convolutions are in channels-last memory.
    std::vector<at::Tensor> one{t.detach().contiguous()};
    process_group_->broadcast(one)->wait();
    if (!t.is_contiguous()) t.detach().copy_(one[0]);
  }
}

void Group::Average(const std::vector<std::pair<std::string, at::Tensor>>& tensors) {
  if (world_size_ == 1 || tensors.empty()) return;
  const SumClock clock(*this);
  std::vector<at::Tensor> flat;
  for (const auto& [name, tensor] : tensors) flat.push_back(tensor.detach().reshape(-1));
  std::vector<at::Tensor> all{at::cat(flat)};
  process_group_->allreduce(all)->wait();
  all[0].div_(world_size_);
  int64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    tensor.detach().copy_(all[0].narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

std::vector<uint64_t> Group::Gather(uint64_t value) {
  // Halves of 32 bits are exact in a double.
  std::vector<double> halves(static_cast<size_t>(world_size_) * 2, 0.0);
  halves[rank_ * 2] = static_cast<double>(value >> 32);
  halves[rank_ * 2 + 1] = static_cast<double>(value & 0xffffffffu);
  Sum(halves);
  std::vector<uint64_t> all;
  for (int r = 0; r < world_size_; ++r) {
    all.push_back(static_cast<uint64_t>(halves[r * 2]) << 32 | static_cast<uint64_t>(halves[r * 2 + 1]));
  }
  return all;
}

void Group::Barrier() {
  double nothing = 0;
  Sum({&nothing, 1});
}

bool IsPeerLoss(const std::exception& e) {
  if (dynamic_cast<const PeerLostError*>(&e) != nullptr) return true;
  // Gloo, NCCL and the store throw plain exceptions; their texts are all there is.
  const std::string_view text = e.what();
  for (std::string_view sign : {"Connection closed by peer", "Connection reset by peer", "Broken pipe",
                                "Application timeout caused pair closure", "Timed out waiting",
                                "NCCL communicator was aborted", "connection was closed"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace ddp
