#include "common/rendezvous.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/shm_layout.h"

namespace ddp {

absl::StatusOr<StoreSocket> BindStore() {
  StoreSocket store{.fd = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  // Listening already: ranks that are quicker than rank 0 wait in the queue instead of being refused.
  if (!store.fd.valid() || bind(store.fd.get(), generic, size) != 0 || listen(store.fd.get(), 1024) != 0 ||
      getsockname(store.fd.get(), generic, &size) != 0) {
    return ErrnoStatus(errno, "cannot bind the store's socket on 127.0.0.1");
  }
  store.port = ntohs(address.sin_port);
  return store;
}

absl::StatusOr<UniqueFd> MakeSharedMemory(int world_size) {
  UniqueFd fd(memfd_create("ddp-group", MFD_CLOEXEC));
  // Reserved now: a machine without the memory refuses here, and no rank dies by SIGBUS in the middle of a step.
  const int error = fd.valid() ? posix_fallocate(fd.get(), 0, static_cast<off_t>(ShmBytes(world_size))) : errno;
  if (error != 0)
    return ErrnoStatus(error, absl::StrCat("cannot reserve ", ShmBytes(world_size), " bytes of shared memory"));
  return fd;
}

}  // namespace ddp
