#include "client/completion/complete.h"

#include <gtest/gtest.h>

namespace ddp {
namespace {

// A line of commands as large as it takes.
class CompleteTest : public testing::Test {
 protected:
  CompleteTest() {
    app_.fallthrough();
    offers_[app_.add_option("-o,--output", text_, "the format")] = "json|yaml";
    offers_[app_.add_option("--home", text_)] = "FOLDER";
    CLI::App& submit = *app_.add_subcommand("submit", "queue a job");
    offers_[submit.add_option("--data", text_)] = "wordnet|wordnet:noun|FILE";
    offers_[submit.add_option("--init-from", text_)] = "JOB|FILE";
    submit.add_option("--lr", text_);
    submit.add_flag("--dry-run", flag_, "check it");
    submit.add_flag("-q", flag_);
    CLI::App& metrics = *app_.add_subcommand("metrics", "its metrics");
    metrics.add_option("JOB", text_);
    CLI::App& exported = *metrics.add_subcommand("export", "to a file");
    exported.add_option("JOB", text_);
    exported.add_option("PATH", text_);
    exported.add_flag("--force", flag_);
  }

  Completion Ask(const std::vector<std::string>& words) { return Complete(app_, offers_, words); }
  std::vector<std::string> Words(const std::vector<std::string>& words) {
    std::vector<std::string> found;
    for (const Candidate& candidate : Ask(words).candidates) found.push_back(candidate.word);
    return found;
  }

  using Strings = std::vector<std::string>;
  CLI::App app_;
  Offers offers_;
  std::string text_;
  bool flag_ = false;
};

TEST_F(CompleteTest, Verbs) {
  EXPECT_EQ(Words({""}), (Strings{"submit", "metrics"}));
  EXPECT_EQ(Words({}), (Strings{"submit", "metrics"}));
  EXPECT_EQ(Words({"su"}), Strings{"submit"});
  EXPECT_EQ(Ask({"su"}).candidates[0].help, "queue a job");
  EXPECT_EQ(Words({"x"}), Strings{});
  EXPECT_EQ(Words({"metrics", "e"}), Strings{"export"});
  EXPECT_EQ(Words({"-o", "json", "su"}), Strings{"submit"});
}

TEST_F(CompleteTest, FlagsOfTheVerbAndOfWhatItBelongsTo) {
  EXPECT_EQ(Words({"submit", "--d"}), (Strings{"--data", "--dry-run"}));
  EXPECT_EQ(Words({"submit", "--o"}), Strings{"--output"});
  EXPECT_EQ(Words({"submit", "-"}),
            (Strings{"--help", "--data", "--init-from", "--lr", "--dry-run", "-q", "--output", "--home"}));
  EXPECT_EQ(Words({"metrics", "export", "--f"}), Strings{"--force"});
  EXPECT_EQ(Words({"--d"}), Strings{});
}

TEST_F(CompleteTest, ValuesInBothSpellings) {
  EXPECT_EQ(Words({"submit", "--data", "wordnet:"}), Strings{"wordnet:noun"});
  EXPECT_EQ(Words({"submit", "--data=w"}), (Strings{"--data=wordnet", "--data=wordnet:noun"}));
  EXPECT_TRUE(Ask({"submit", "--data", ""}).files);
  EXPECT_EQ(Words({"submit", "-o", "y"}), Strings{"yaml"});
  EXPECT_EQ(Words({"submit", "--lr", ""}), Strings{});
  EXPECT_EQ(Words({"submit", "--dry-run", ""}), Strings{});  // takes no value
  EXPECT_EQ(Words({"submit", "--dry-run="}), Strings{});
  EXPECT_EQ(Words({"submit", "--unknown", "--l"}), Strings{"--lr"});
  EXPECT_TRUE(Ask({"--home", ""}).folders);
  EXPECT_FALSE(Ask({"--home", ""}).files);
}

TEST_F(CompleteTest, JobsWhereAJobStands) {
  EXPECT_TRUE(Ask({"metrics", ""}).jobs);
  EXPECT_EQ(Ask({"metrics", "0a"}).job_begin, "0a");
  EXPECT_EQ(Ask({"metrics", "0a"}).verb, "metrics");
  EXPECT_FALSE(Ask({"metrics", "0a", ""}).jobs);  // there is one already
  EXPECT_FALSE(Ask({"metrics", "-"}).jobs);
  EXPECT_TRUE(Ask({"metrics", "--", "-"}).jobs);  // only words from there on
  EXPECT_TRUE(Ask({"metrics", "export", ""}).jobs);
  EXPECT_FALSE(Ask({"metrics", "export", ""}).files);
  EXPECT_TRUE(Ask({"metrics", "export", "0a", ""}).files);
  const Completion from = Ask({"submit", "--init-from=0b"});
  EXPECT_TRUE(from.jobs && from.files);
  EXPECT_EQ(from.job_lead, "--init-from=");
  EXPECT_EQ(from.job_begin, "0b");
}

TEST_F(CompleteTest, TellsWhatWasGiven) {
  const Completion found = Ask({"--home", "/a", "metrics", "-ojson", "--output=yaml", ""});
  EXPECT_EQ(found.values, (std::map<std::string, std::string>{{"home", "/a"}, {"output", "yaml"}}));
  EXPECT_TRUE(found.jobs);
}

}  // namespace
}  // namespace ddp
