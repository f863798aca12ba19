// The few lines with which a shell asks ddpctl what may come next.
#ifndef DDP_CLIENT_COMPLETION_SCRIPTS_H_
#define DDP_CLIENT_COMPLETION_SCRIPTS_H_

#include <string>

namespace ddp {

// The word by which they ask, instead of a verb, followed by "--" and the words up to the cursor. The answer: a
// candidate a line, behind a tab what it means; ":files" or ":folders" where the shell is to offer them.
inline constexpr char kCompleteWord[] = "__complete";

// Of "bash", "zsh" or "fish".
std::string CompletionScript(const std::string& shell);

}  // namespace ddp

#endif  // DDP_CLIENT_COMPLETION_SCRIPTS_H_
