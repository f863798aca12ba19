// The signals that end a program, for one that must first give the terminal back.
#ifndef DDP_CLIENT_END_SIGNALS_H_
#define DDP_CLIENT_END_SIGNALS_H_

namespace ddp {

// While it lives, SIGINT, SIGTERM and SIGHUP are noted and wake `event_fd` instead of ending the program. One at a
// time.
class EndSignals {
 public:
  explicit EndSignals(int event_fd);
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  // 0: none has come.
  int arrived() const;
};

}  // namespace ddp

#endif  // DDP_CLIENT_END_SIGNALS_H_
