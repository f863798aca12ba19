// One gRPC call, made for one HTTP request.
#ifndef DDP_SERVER_GATEWAY_CALL_H_
#define DDP_SERVER_GATEWAY_CALL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "server/gateway/frames.h"

namespace ddp {

// Everything but Start's gRPC side happens on the executor's one thread: the functions are called there, and so are the
// events. One message in each direction at a time, so that whoever is slow slows only his own call.
class Call final : private grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                   public std::enable_shared_from_this<Call> {
 public:
  struct Events {
    std::function<void()> written;                                      // after Write, unless the call is over
    std::function<void(const grpc::ByteBuffer&)> message;               // after Read, unless there is none
    std::function<void(const grpc::Status&, const WebMetadata&)> done;  // once, last; the events are dropped after it
  };
  // authorization: the header as it came. An infinite timeout: none.
  static std::shared_ptr<Call> Start(grpc::GenericStub& stub, boost::asio::any_io_executor executor,
                                     const std::string& method, const std::string& authorization,
                                     absl::Duration timeout, Events events);

  void Write(const std::string& message);
  void WritesDone();
  void Read();
  // `done` follows soon; nothing else does.
  void Cancel();

  explicit Call(boost::asio::any_io_executor executor) : work_(std::move(executor)) {}

 private:
  void OnWriteDone(bool ok) override;
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void Post(std::function<void()> task);
  void LetGo();

  boost::asio::executor_work_guard<boost::asio::any_io_executor> work_;  // the thread does not end before the call has
  grpc::ClientContext context_;
  std::string method_;
  Events events_;
  std::shared_ptr<Call> self_;  // until gRPC is done with it
  grpc::ByteBuffer outgoing_;
  grpc::ByteBuffer incoming_;
  bool reading_ = false;
  bool held_ = true;  // gRPC must not end the call before all messages have been read
  bool cancelled_ = false;
};

}  // namespace ddp

#endif  // DDP_SERVER_GATEWAY_CALL_H_
