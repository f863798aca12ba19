#include "runner/link.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "absl/strings/strip.h"
#include "attempt/event_log.h"
#include "common/files.h"
#include "common/logging.h"

namespace ddp {

namespace {

constexpr std::chrono::milliseconds kFirstBackoff{50};
constexpr std::chrono::milliseconds kLongestBackoff{1000};

// The daemon may come back on another port at any time, so the file is read for every connection.
std::string ReadAddress(const std::string& home) {
  absl::StatusOr<std::string> text = ReadFile(home + "/address", 4096);
  if (!text.ok()) return "";
  return std::string(absl::StripSuffix(*text, "\n"));
}

}  // namespace

Link::Link(const v1::Launch& launch, Callbacks callbacks) : launch_(launch), callbacks_(std::move(callbacks)) {
  thread_ = std::thread([this] { Run(); });
}

Link::~Link() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  changed_.notify_all();
  thread_.join();
}

void Link::Written(uint64_t seq) {
  {
    std::lock_guard lock(mutex_);
    written_ = seq;
  }
  changed_.notify_all();
}

bool Link::WaitForAcks(absl::Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, absl::ToChronoMilliseconds(timeout),
                           [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return acked_ >= written_; });
}

void Link::Run() {
  auto backoff = kFirstBackoff;
  for (;;) {
    const grpc::Status status = Serve();
    std::unique_lock lock(mutex_);
    if (closing_) return;
    // Not NOT_FOUND: another home's daemon may have taken our daemon's port, and knows nothing of us.
    if (status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
      lock.unlock();
      LogError("the coordinator refuses this attempt: " + status.error_message());
      callbacks_.fenced();
      return;
    }
    backoff = served_ ? kFirstBackoff : std::min(backoff * 2, kLongestBackoff);
    if (changed_.wait_for(lock, backoff, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closing_; })) return;
  }
}

grpc::Status Link::Serve() {
  grpc::ClientContext context;
  {
    std::lock_guard lock(mutex_);
    served_ = false;
    broken_ = false;
    if (closing_) return grpc::Status::CANCELLED;
    context_ = &context;
  }
  grpc::Status status(grpc::StatusCode::UNAVAILABLE, "no address");
  const std::string address = ReadAddress(launch_.home());
  if (!address.empty()) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a fresh connection, not a failed one's back-off
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetMaxReceiveMessageSize(-1);
    const auto channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    const auto stub = v1::RunnerService::NewStub(channel);
    const std::unique_ptr<Stream> stream = stub->Attach(&context);
    v1::RunnerMessage message;
    v1::RunnerHello& hello = *message.mutable_hello();
    hello.set_job_id(launch_.job_id());
    hello.set_attempt(launch_.attempt());
    hello.set_secret(launch_.secret());
    hello.set_pid(getpid());
    v1::CoordinatorMessage reply;
    if (stream->Write(message) && stream->Read(&reply) && reply.has_hello()) {
      {
        std::lock_guard lock(mutex_);
        served_ = true;
        acked_ = std::max(acked_, reply.hello().acked_seq());
      }
      changed_.notify_all();
      std::thread reader([&] { ReadLoop(*stream); });
      SendFrom(reply.hello().acked_seq(), *stream);
      context.TryCancel();
      reader.join();
    }
    status = stream->Finish();
  }
  std::lock_guard lock(mutex_);
  context_ = nullptr;
  return status;
}

void Link::ReadLoop(Stream& stream) {
  v1::CoordinatorMessage message;
  while (stream.Read(&message)) {
    if (message.has_stop()) callbacks_.stop(message.stop().force());
    if (message.has_ack()) {
      {
        std::lock_guard lock(mutex_);
        acked_ = std::max(acked_, message.ack().seq());
      }
      changed_.notify_all();
    }
  }
  {
    std::lock_guard lock(mutex_);
    broken_ = true;
  }
  changed_.notify_all();
}

void Link::SendFrom(uint64_t acked, Stream& stream) {
  EventLogReader log(launch_.attempt_dir());
  for (uint64_t sent = 0;;) {
    absl::StatusOr<std::optional<v1::RunnerEvent>> event = log.Next();
    if (!event.ok()) {
      LogError(std::string(event.status().message()));
      return;
    }
    if (*event) {
      sent = (*event)->seq();
      if (sent <= acked) continue;
      v1::RunnerMessage message;
      *message.mutable_event() = **std::move(event);
      if (!stream.Write(message)) return;
      continue;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return closing_ || broken_ || written_ > sent; });
    if (closing_ || broken_) return;
  }
}

}  // namespace ddp
