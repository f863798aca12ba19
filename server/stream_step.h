// What a source of streamed messages answers when it is asked for the next one.
#ifndef DDP_SERVER_STREAM_STEP_H_
#define DDP_SERVER_STREAM_STEP_H_

namespace ddp {

enum class StreamStep {
  kItem,  // the next message has been filled in
  kWait,  // nothing now: the source wakes the asker
  kIdle,  // the same, but ask again when nothing has come for ten seconds
  kPoll,  // nothing now: ask again soon; it may wake the asker all the same
  kEnd,   // everything has been sent, and nothing more will come
};

}  // namespace ddp

#endif  // DDP_SERVER_STREAM_STEP_H_
