// ddpctl top on a terminal.
#ifndef DDP_CLIENT_VERBS_TOP_SCREEN_H_
#define DDP_CLIENT_VERBS_TOP_SCREEN_H_

#include "client/end_signals.h"
#include "client/keys.h"
#include "client/screen.h"
#include "client/top_view.h"
#include "client/verbs/top_feed.h"
#include "client/verbs/verbs.h"
#include "common/files.h"

namespace ddp {

class TopScreen {
 public:
  explicit TopScreen(const Globals& globals);
  // Until a key or the end of the terminal ends it. Ctrl-C: ExitError (kDetached). A signal that ends programs ends
  // this one, once the terminal is as it was.
  void Run();

 private:
  enum class Next { kGoOn, kLeave };

  void Take(TopFeed::News news);
  Next ReadKeys(TopFeed& feed);
  Next Do(const TopAction& action, TopFeed& feed);
  void Watch(const std::string& job);
  void EndBy(int signal);

  const Globals& globals_;
  const UniqueFd events_;
  TopView view_;
  KeyReader keys_;
  Screen screen_;
  std::optional<EndSignals> signals_;
};

}  // namespace ddp

#endif  // DDP_CLIENT_VERBS_TOP_SCREEN_H_
