#include "runner/worker_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "absl/strings/str_cat.h"
#include "common/framing.h"
#include "common/rendezvous.h"
#include "common/status_macros.h"

namespace ddp {

namespace {

// Descriptors in the worker.
constexpr int kSocketFd = 3;
constexpr int kStoreFd = 4;
constexpr int kShmFd = 5;
constexpr int kLockFd = 6;

std::vector<std::string> EnvironmentOf(const v1::Launch& launch, int rank) {
  std::vector<std::string> environment = AllowedEnvironment();
  environment.push_back(absl::StrCat("OMP_NUM_THREADS=", launch.threads_per_rank()));
  if (rank < launch.gpus_size()) {
    std::erase_if(environment, [](const std::string& v) { return v.rfind("CUDA_VISIBLE_DEVICES=", 0) == 0; });
    environment.push_back(absl::StrCat("CUDA_VISIBLE_DEVICES=", launch.gpus(rank)));
    environment.push_back("CUDA_DEVICE_ORDER=PCI_BUS_ID");  // NVML's order, by which slots are numbered
  }
  return environment;
}

absl::StatusOr<WorkerProcess> StartRank(const v1::Launch& launch, int rank, const StoreSocket& store,
                                        const UniqueFd& memory, int lock_fd) {
  const std::string log_path = absl::StrCat(launch.attempt_dir(), "/rank-", rank, ".log");
  const UniqueFd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return ErrnoStatus(errno, absl::StrCat("cannot make ", log_path));
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return ErrnoStatus(errno, "cannot make a socket pair");
  WorkerProcess worker{.child = {}, .socket = UniqueFd(pair[0])};
  const UniqueFd theirs(pair[1]);

  SpawnOptions options;
  options.argv = {launch.worker_binary(), "--fd", absl::StrCat(kSocketFd)};
  options.environment = EnvironmentOf(launch, rank);
  options.fds = {{log.get(), 1}, {log.get(), 2}, {theirs.get(), kSocketFd}, {lock_fd, kLockFd}};
  if (rank == 0) options.fds.emplace_back(store.fd.get(), kStoreFd);
  if (memory.valid()) options.fds.emplace_back(memory.get(), kShmFd);
  options.new_process_group = true;
  DDP_ASSIGN_OR_RETURN(worker.child, Spawn(options));

  v1::WorkerCommand command;
  v1::WorkerStart& start = *command.mutable_start();
  *start.mutable_launch() = launch;
  start.mutable_launch()->clear_secret();
  start.set_rank(rank);
  start.set_world_size(launch.spec().resources().nproc());
  start.set_store_port(store.port);
  start.set_store_fd(rank == 0 ? kStoreFd : -1);
  start.set_shm_fd(memory.valid() ? kShmFd : -1);
  // A worker that dies at once is judged by its exit, not by this write.
  WriteFrame(worker.socket.get(), command.SerializeAsString()).IgnoreError();
  return worker;
}

}  // namespace

absl::StatusOr<StartedRanks> StartRanks(const v1::Launch& launch, int lock_fd) {
  StartedRanks started;
  const int world_size = launch.spec().resources().nproc();
  DDP_ASSIGN_OR_RETURN(const StoreSocket store, BindStore());
  started.store_port = store.port;
  UniqueFd memory;
  if (launch.spec().resources().backend() == v1::BACKEND_SHM) {
    DDP_ASSIGN_OR_RETURN(memory, MakeSharedMemory(world_size));
  }
  for (int rank = 0; rank < world_size; ++rank) {
    absl::StatusOr<WorkerProcess> worker = StartRank(launch, rank, store, memory, lock_fd);
    if (!worker.ok()) {
      for (const WorkerProcess& earlier : started.ranks) {
        kill(-earlier.child.pid, SIGKILL);
        Reap(earlier.child.pid, /*wait=*/true);
      }
      return absl::Status(worker.status().code(),
                          absl::StrCat("cannot start rank ", rank, ": ", std::string(worker.status().message())));
    }
    started.ranks.push_back(*std::move(worker));
  }
  return started;
}

}  // namespace ddp
