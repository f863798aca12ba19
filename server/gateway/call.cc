#include "server/gateway/call.h"

#include <boost/asio/post.hpp>

#include "absl/time/clock.h"

namespace ddp {

std::shared_ptr<Call> Call::Start(grpc::GenericStub& stub, boost::asio::any_io_executor executor,
                                  const std::string& method, const std::string& authorization, absl::Duration timeout,
                                  Events events) {
  auto call = std::make_shared<Call>(std::move(executor));
  call->self_ = call;
  call->method_ = method;
  call->events_ = std::move(events);
  if (!authorization.empty()) call->context_.AddMetadata("authorization", authorization);
  if (timeout != absl::InfiniteDuration()) call->context_.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  stub.PrepareBidiStreamingCall(&call->context_, call->method_, {}, call.get());
  call->AddHold();
  call->StartCall();
  return call;
}

void Call::Write(const std::string& message) {
  if (!held_) return;  // it ends already
  const grpc::Slice slice(message);
  outgoing_ = grpc::ByteBuffer(&slice, 1);
  StartWrite(&outgoing_);
}

void Call::WritesDone() {
  if (held_) StartWritesDone();
}

void Call::Read() {
  if (cancelled_ || !held_) return;
  reading_ = true;
  StartRead(&incoming_);
}

void Call::Cancel() {
  cancelled_ = true;
  context_.TryCancel();
  if (!reading_) LetGo();
}

void Call::LetGo() {
  if (!std::exchange(held_, false)) return;
  RemoveHold();
}

void Call::Post(std::function<void()> task) { boost::asio::post(work_.get_executor(), std::move(task)); }

void Call::OnWriteDone(bool ok) {
  if (!ok) return;
  Post([this, self = self_] {
    if (!cancelled_ && events_.written) events_.written();
  });
}

void Call::OnReadDone(bool ok) {
  Post([this, self = self_, ok] {
    reading_ = false;
    if (!ok || cancelled_) {
      LetGo();
      return;
    }
    grpc::ByteBuffer message;
    message.Swap(&incoming_);
    events_.message(message);
  });
}

void Call::OnDone(const grpc::Status& status) {
  Post([this, status] {
    const std::shared_ptr<Call> self = std::move(self_);
    WebMetadata trailers;
    for (const auto& [name, value] : context_.GetServerTrailingMetadata()) {
      if (std::string_view(name.data(), name.size()) == "grpc-status-details-bin") continue;  // a part of the status
      trailers.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
    }
    const Events events = std::move(events_);
    events_ = {};
    work_.reset();
    events.done(status, trailers);
  });
}

}  // namespace ddp
