#include "client/completion/complete.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ddp {

namespace {

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string LongName(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : option.get_lnames()[0];
}

// Where the parser looks for an option: in the verb, and in what it belongs to.
std::vector<const CLI::App*> Scopes(const CLI::App* app) {
  std::vector<const CLI::App*> scopes{app};
  for (; app->get_fallthrough() && app->get_parent() != nullptr; scopes.push_back(app)) app = app->get_parent();
  return scopes;
}

const CLI::Option* FindOption(const CLI::App* app, const std::string& name) {
  for (const CLI::App* scope : Scopes(app)) {
    if (const CLI::Option* option = scope->get_option_no_throw(name)) return option;
  }
  return nullptr;
}

// The words of the line, one after the other, as the parser would take them.
class Walk {
 public:
  Walk(const CLI::App& app, const Offers& offers) : verb_(&app), offers_(offers) {}

  void Pass(const std::string& word) {
    if (waiting_ != nullptr) {
      Give(*waiting_, word);
      waiting_ = nullptr;
    } else if (!only_words_ && word == "--") {
      only_words_ = true;
    } else if (!only_words_ && word.size() > 1 && word[0] == '-') {
      PassFlag(word);
    } else if (const CLI::App* verb = only_words_ ? nullptr : Verb(word)) {
      verb_ = verb;
      place_ = 0;
    } else {
      ++place_;
    }
  }

  Completion End(const std::string& word) {
    const size_t equals = word.find('=');
    if (waiting_ != nullptr) {
      OfferValues(*waiting_, "", word);
    } else if (!only_words_ && absl::StartsWith(word, "--") && equals != std::string::npos) {
      const CLI::Option* option = FindOption(verb_, word.substr(0, equals));
      if (option != nullptr && TakesValue(*option))
        OfferValues(*option, word.substr(0, equals + 1), word.substr(equals + 1));
    } else if (!only_words_ && absl::StartsWith(word, "-")) {
      OfferFlags(word);
    } else {
      OfferVerbs(word);
      if (const CLI::Option* positional = Positional()) OfferValues(*positional, "", word);
    }
    if (verb_->get_parent() != nullptr) result_.verb = verb_->get_name();
    return std::move(result_);
  }

 private:
  void Give(const CLI::Option& option, const std::string& value) { result_.values[LongName(option)] = value; }

  void PassFlag(const std::string& word) {
    const bool is_long = word[1] == '-';
    const size_t end = is_long ? std::min(word.find('='), word.size()) : 2;
    const CLI::Option* option = FindOption(verb_, word.substr(0, end));
    if (option == nullptr || !TakesValue(*option)) return;
    if (end == word.size()) {
      waiting_ = option;
    } else {
      Give(*option, word.substr(is_long ? end + 1 : end));
    }
  }

  const CLI::App* Verb(const std::string& name) const {
    for (const CLI::App* verb : verb_->get_subcommands([](const CLI::App*) { return true; })) {
      if (verb->check_name(name)) return verb;
    }
    return nullptr;
  }

  // The one that the word at this place belongs to.
  const CLI::Option* Positional() const {
    int place = place_;
    for (const CLI::Option* option : verb_->get_options()) {
      if (!option->get_positional()) continue;
      if (place < option->get_items_expected_max()) return option;
      place -= option->get_items_expected_max();
    }
    return nullptr;
  }

  // Once: a verb and what it belongs to both have --help.
  void Offer(const std::string& word, const std::string& typed, const std::string& help) {
    const auto known = std::find_if(result_.candidates.begin(), result_.candidates.end(),
                                    [&](const Candidate& candidate) { return candidate.word == word; });
    if (absl::StartsWith(word, typed) && known == result_.candidates.end()) result_.candidates.push_back({word, help});
  }

  void OfferFlags(const std::string& typed) {
    for (const CLI::App* scope : Scopes(verb_)) {
      for (const CLI::Option* option : scope->get_options()) {
        if (option->get_group().empty()) continue;
        for (const std::string& name : option->get_lnames()) {
          Offer(absl::StrCat("--", name), typed, option->get_description());
        }
        if (!option->get_lnames().empty()) continue;
        for (const std::string& name : option->get_snames()) {
          Offer(absl::StrCat("-", name), typed, option->get_description());
        }
      }
    }
  }

  void OfferVerbs(const std::string& typed) {
    if (place_ > 0 || only_words_) return;
    for (const CLI::App* verb : verb_->get_subcommands([](const CLI::App*) { return true; })) {
      Offer(verb->get_name(), typed, verb->get_description());
    }
  }

  void OfferValues(const CLI::Option& option, const std::string& lead, const std::string& typed) {
    const auto offer = offers_.find(&option);
    const std::string words = offer == offers_.end() ? option.get_name(/*positional=*/true) : offer->second;
    for (const std::string& word : std::vector<std::string>(absl::StrSplit(words, '|'))) {
      if (word == "FILE" || word == "PATH") {
        result_.files = true;
      } else if (word == "FOLDER") {
        result_.folders = true;
      } else if (word == "JOB") {
        result_.jobs = true;
        result_.job_lead = lead;
        result_.job_begin = typed;
      } else if (offer != offers_.end()) {
        Offer(absl::StrCat(lead, word), absl::StrCat(lead, typed), "");
      }
    }
  }

  const CLI::App* verb_;
  const Offers& offers_;
  const CLI::Option* waiting_ = nullptr;  // for its value
  bool only_words_ = false;               // "--" was there
  int place_ = 0;                         // positional words so far
  Completion result_;
};

}  // namespace

Completion Complete(const CLI::App& app, const Offers& offers, const std::vector<std::string>& words) {
  Walk walk(app, offers);
  for (size_t i = 0; i + 1 < words.size(); ++i) walk.Pass(words[i]);
  return walk.End(words.empty() ? "" : words.back());
}

}  // namespace ddp
