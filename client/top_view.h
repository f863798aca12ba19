// What ddpctl top shows, and what its keys do. No terminal, no daemon.
#ifndef DDP_CLIENT_TOP_VIEW_H_
#define DDP_CLIENT_TOP_VIEW_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/keys.h"
#include "client/plot/glyphs.h"
#include "client/plot/spark.h"
#include "ddp/v1/job.pb.h"
#include "ddp/v1/system.pb.h"

namespace ddp {

struct TopAction {
  enum Kind { kNone, kQuit, kInterrupt, kSuspend, kCancel, kPause, kResume, kWatch };
  Kind kind = kNone;
  std::string job;
};

// Not thread-safe.
class TopView {
 public:
  explicit TopView(Glyphs glyphs) : glyphs_(glyphs) {}

  // Jobs in any order; the live ones are shown first, then the others, each newest first.
  void Update(std::vector<v1::Job> jobs, v1::SystemInfo info);
  // One line at the bottom until the next key: what came of an action.
  void Tell(const std::string& message) { message_ = message; }
  // Not empty: why there is nothing newer than what is shown, which the daemon vouched for at `told`.
  void SetTrouble(const std::string& trouble, absl::Time told) {
    trouble_ = trouble;
    told_ = told;
  }

  TopAction Press(Key key);

  // At most `height` lines of at most `width` columns. The selected job is in view; with `marks` it is in reverse
  // video.
  std::vector<std::string> Frame(int width, int height, absl::Time now, bool marks) const;

 private:
  size_t Selected() const;
  void Select(size_t index);
  void Ask(TopAction::Kind kind);
  std::string Head(absl::Time now) const;
  std::string Foot() const;

  const Glyphs glyphs_;
  bool seen_ = false;  // Update was called
  std::vector<v1::Job> jobs_;
  v1::SystemInfo info_;
  std::map<std::string, Spark> curves_;  // by job
  std::string selected_;                 // a job's id; "": the first one
  TopAction asked_;                      // waits for yes or no
  std::string message_;
  std::string trouble_;
  absl::Time told_ = absl::InfinitePast();
};

}  // namespace ddp

#endif  // DDP_CLIENT_TOP_VIEW_H_
