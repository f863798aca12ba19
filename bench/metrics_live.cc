// How long a point takes from a runner's event to a subscriber on another process, over gRPC on loopback; and what many
// subscribers cost. The inside of ddpd (store, manager, hub, gRPC server) runs here, the runner's events are handed to
// the manager as its service does, the subscribers are a process of their own. metrics_latency.py and
// metrics_subscribers.py run this.
//   bench_metrics_live CONNECTIONS SUBSCRIBERS EVENTS POINTS_PER_EVENT MILLISECONDS_BETWEEN_EVENTS
// The subscribers alone, of a job of any ddpd (delays are told only of the server above, whose points have this clock):
//   bench_metrics_live --subscribe ADDRESS TOKEN JOB CONNECTIONS SUBSCRIBERS AFTER_SEQ
#include <grpcpp/grpcpp.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/logging.h"
#include "ddp/v1/metric.grpc.pb.h"
#include "server/api/server.h"
#include "server/manager/testing.h"
#include "server/metrics/stream_pace.h"

namespace ddp {
namespace {

constexpr char kToken[] = "bench";

// The same clock in both processes.
double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What all subscribers of the client's process have seen.
struct Seen {
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  int ended = 0;
  uint64_t skipped = 0;
  std::vector<double> delays;          // of each message
  std::map<uint64_t, double> slowest;  // of each batch, over the subscribers
};

class Subscriber final : public grpc::ClientReadReactor<v1::StreamMetricsResponse> {
 public:
  Subscriber(v1::MetricService::Stub& stub, const std::string& token, const std::string& job, uint64_t after_seq,
             Seen& seen)
      : seen_(seen) {
    request_.set_job_id(job);
    request_.set_after_seq(after_seq);
    context_.AddMetadata("authorization", "Bearer " + token);
    stub.async()->Stream(&context_, &request_, this);
    StartRead(&batch_);
    StartCall();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    {
      std::lock_guard lock(seen_.mutex);
      if (batch_.lagged_from() != 0) {
        seen_.skipped += batch_.seq() - batch_.lagged_from() + 1;
      } else if (!joined_) {
        joined_ = true;
        ++seen_.joined;
        seen_.changed.notify_all();
      } else {
        const double delay = Now() - batch_.columns(0).time(0);
        seen_.delays.push_back(delay);
        seen_.slowest[batch_.seq()] = std::max(seen_.slowest[batch_.seq()], delay);
      }
    }
    StartRead(&batch_);
  }
  void OnDone(const grpc::Status&) override {
    std::lock_guard lock(seen_.mutex);
    ++seen_.ended;
    seen_.changed.notify_all();
  }

  Seen& seen_;
  bool joined_ = false;
  grpc::ClientContext context_;
  v1::StreamMetricsRequest request_;
  v1::StreamMetricsResponse batch_;
};

double Milliseconds(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return 1e3 * sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// Of all threads of this process.
double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

int RunSubscribers(const std::string& address, const std::string& token, const std::string& job, int connections,
                   int subscribers, uint64_t after_seq) {
  std::vector<std::unique_ptr<v1::MetricService::Stub>> stubs;
  for (int i = 0; i < connections; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    stubs.push_back(
        v1::MetricService::NewStub(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
  }
  Seen seen;
  std::vector<std::unique_ptr<Subscriber>> all;
  for (int i = 0; i < subscribers; ++i) {
    all.push_back(
        std::make_unique<Subscriber>(*stubs[static_cast<size_t>(i % connections)], token, job, after_seq, seen));
  }
  {
    std::unique_lock lock(seen.mutex);
    seen.changed.wait(lock, [&] { return seen.joined == subscribers || seen.ended > 0; });
  }
  std::printf("joined\n");
  std::fflush(stdout);
  const double cpu = CpuSeconds();
  std::unique_lock lock(seen.mutex);
  seen.changed.wait(lock, [&] { return seen.ended == subscribers; });
  std::sort(seen.delays.begin(), seen.delays.end());
  std::vector<double> slowest;
  for (const auto& [seq, delay] : seen.slowest) slowest.push_back(delay);
  std::sort(slowest.begin(), slowest.end());
  std::printf("messages %zu\nclients_cpu_seconds %.3f\n", seen.delays.size(), CpuSeconds() - cpu);
  std::printf("batches_skipped %llu\n", static_cast<unsigned long long>(seen.skipped));
  std::printf("p50_ms %.2f\np99_ms %.2f\nmax_ms %.2f\n", Milliseconds(seen.delays, 0.5),
              Milliseconds(seen.delays, 0.99), Milliseconds(seen.delays, 1));
  std::printf("broadcast_p50_ms %.2f\nbroadcast_max_ms %.2f\n", Milliseconds(slowest, 0.5), Milliseconds(slowest, 1));
  return 0;
}

int ResidentMegabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atoi(line.c_str() + 6) / 1024;
  }
  return 0;
}

v1::RunnerEvent Points(uint64_t seq, int points) {
  v1::RunnerEvent event = Rig::Event(seq);
  v1::MetricColumn& column = *event.mutable_from_rank()->mutable_event()->mutable_metrics()->add_columns();
  column.set_series("loss");
  for (int i = 0; i < points; ++i) {
    column.add_step(static_cast<int64_t>(seq) * points + i);
    column.add_time(Now());
    column.add_value(0.5);
  }
  return event;
}

int RunServer(const char* self, int connections, int subscribers, int events, int points, int between) {
  InitLogging(LogLevel::kError);
  StreamPace pace;
  Rig rig(1, [&pace](size_t subscribers) { return pace.Interval(subscribers); });
  Executor executor(16);
  ApiContext api{*rig.manager, *rig.hub, rig.store->reader(), executor, kToken, rig.home, ""};
  auto server = std::move(ApiServer::Start(api, {}, "127.0.0.1:0")).value();
  const std::string job = rig.Submit(1);
  const auto send = [&](const v1::RunnerEvent& event) {
    if (!rig.manager->HandleEvent(rig.Hello(job), event).ok()) std::exit(1);
  };
  if (!rig.manager->Attach(rig.Hello(job), std::make_shared<FakeSession>()).ok()) return 1;
  send(Rig::FirstStep(1));
  send(Points(2, points));
  const int idle = ResidentMegabytes();
  FILE* client = popen(absl::StrCat(self, " --subscribe ", server->address(), " ", kToken, " ", job, " ", connections,
                                    " ", subscribers, " 0")
                           .c_str(),
                       "r");
  char line[256];
  if (client == nullptr || std::fgets(line, sizeof(line), client) == nullptr) return 1;
  const double cpu = CpuSeconds();
  auto due = std::chrono::steady_clock::now();
  for (int i = 0; i < events; ++i) {
    std::this_thread::sleep_until(due += std::chrono::milliseconds(between));
    send(Points(static_cast<uint64_t>(i) + 3, points));
  }
  std::this_thread::sleep_until(due + std::chrono::milliseconds(between));
  const int busy = ResidentMegabytes();
  std::printf("server_cpu_seconds %.3f\n", CpuSeconds() - cpu);
  send(Rig::Ended(static_cast<uint64_t>(events) + 3, v1::ATTEMPT_OUTCOME_SUCCEEDED, 1, 1));
  rig.End(job);
  while (std::fgets(line, sizeof(line), client) != nullptr) std::fputs(line, stdout);
  pclose(client);
  std::printf("rss_mb %d\nrss_before_mb %d\n", busy, idle);
  return 0;
}

}  // namespace
}  // namespace ddp

int main(int argc, char** argv) {
  if (argc == 8 && std::string(argv[1]) == "--subscribe") {
    return ddp::RunSubscribers(argv[2], argv[3], argv[4], std::atoi(argv[5]), std::atoi(argv[6]),
                               std::strtoull(argv[7], nullptr, 10));
  }
  if (argc != 6) {
    std::cerr << "usage: bench_metrics_live CONNECTIONS SUBSCRIBERS EVENTS POINTS_PER_EVENT MILLISECONDS_BETWEEN\n";
    return 2;
  }
  return ddp::RunServer(argv[0], std::atoi(argv[1]), std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]),
                        std::atoi(argv[5]));
}
