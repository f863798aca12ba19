// What ddpctl says: the answer on standard output, everything else on standard error.
#ifndef DDP_CLIENT_PRINT_H_
#define DDP_CLIENT_PRINT_H_

#include <string>

namespace ddp {

// The answer. A terminal gets it with control characters escaped, since names, reasons and log lines may hold any; a
// file or pipe gets every byte as it is. A reader that has gone (`| head`) ends the program quietly.
void Print(const std::string& text);

// An answer with colours of ours, in which its maker has escaped what others wrote.
void PrintDrawing(const std::string& text);

// Talk, with control characters escaped.
void Say(const std::string& text);

}  // namespace ddp

#endif  // DDP_CLIENT_PRINT_H_
