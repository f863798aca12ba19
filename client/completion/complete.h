// What may come next on the command line, from the declarations that the parser itself reads: a verb or flag that is
// new is completed without a line here.
#ifndef DDP_CLIENT_COMPLETION_COMPLETE_H_
#define DDP_CLIENT_COMPLETION_COMPLETE_H_

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "client/completion/offers.h"

namespace ddp {

struct Candidate {
  std::string word;  // the whole word, of which what was typed is the beginning
  std::string help;  // may be empty
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;
  bool folders = false;
  bool jobs = false;                          // ids of jobs, too, which the daemon knows ...
  std::string job_lead;                       // ... each with this before it ("--init-from=") ...
  std::string job_begin;                      // ... and beginning so
  std::string verb;                           // the innermost one that was given; "": none
  std::map<std::string, std::string> values;  // of the options that were given, by their first long name without "--"
};

// Of the last of the words (which may be empty) behind the program's name.
Completion Complete(const CLI::App& app, const Offers& offers, const std::vector<std::string>& words);

}  // namespace ddp

#endif  // DDP_CLIENT_COMPLETION_COMPLETE_H_
