#include "worker/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "worker/data/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using FileTest = DataTest;

// Counts: grep -c -v "^  " /usr/share/wordnet/data.{noun,verb,adj,adv} = 82115, 13767, 18156, 3621.
TEST(WordnetTest, CountsAndClasses) {
  DataSpec spec;
  spec.label_kind = LabelKind::kClass;
  const auto all = Load(spec);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->train.size() + all->valid.size(), 82115 + 13767 + 18156 + 3621);
  EXPECT_EQ(all->class_names.size(), 45u);
  EXPECT_EQ(all->tokenizer.vocab_size(), 16384);
  EXPECT_NEAR(static_cast<double>(all->valid.size()), 0.1 * 117659, 4 * 103);  // four standard deviations

  spec.source = "wordnet:noun";
  const auto nouns = Load(spec);
  ASSERT_TRUE(nouns.ok()) << nouns.status();
  EXPECT_EQ(nouns->train.size() + nouns->valid.size(), 82115);
  EXPECT_EQ(nouns->class_names.size(), 26u);
  EXPECT_EQ(nouns->class_names.front(), "noun.Tops");

  // What is held out of one is held out of the other, so that a finetune is never tested on what it was pretrained on.
  const std::set<uint64_t> trained(all->train.sample_hash.begin(), all->train.sample_hash.end());
  for (const uint64_t hash : nouns->valid.sample_hash) ASSERT_FALSE(trained.contains(hash));

  spec.limit = 5000;
  const auto limited = Load(spec);
  EXPECT_EQ(limited->train.size(), 5000);
  EXPECT_EQ(limited->valid.size(), nouns->valid.size());
  EXPECT_TRUE(std::equal(limited->train.sample_hash.begin(), limited->train.sample_hash.end(),
                         nouns->train.sample_hash.begin()));
  // The files are sorted by class; the first 5,000 must not be.
  EXPECT_GT(std::set<int64_t>(limited->train.classes.begin(), limited->train.classes.end()).size(), 20u);
  EXPECT_NE(limited->fingerprint, nouns->fingerprint);
  EXPECT_EQ(Load(spec)->fingerprint, limited->fingerprint);
}

// Sums and the first labels by Python's gzip and numpy.
TEST(FashionMnistTest, KnownValues) {
  DataSpec spec;
  spec.source = "fashion-mnist";
  spec.label_kind = LabelKind::kClass;
  const auto data = Load(spec);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size(), 60000);
  EXPECT_EQ(data->valid.size(), 10000);
  uint64_t sum = 0;
  for (const uint8_t p : data->train.pixels) sum += p;
  EXPECT_EQ(sum, 3431114169u);
  EXPECT_FLOAT_EQ(data->train.pixel_mean, 0.2860405969887955F);
  EXPECT_FLOAT_EQ(data->train.pixel_std, 0.35302424451492237F);
  EXPECT_EQ(data->valid.pixel_mean, data->train.pixel_mean);
  EXPECT_EQ(data->image.channels, 1);
  EXPECT_EQ(data->image.height, 28);
  EXPECT_EQ(data->image.width, 28);
  EXPECT_THAT(std::vector<int64_t>(data->train.classes.begin(), data->train.classes.begin() + 8),
              ElementsAre(9, 0, 0, 3, 0, 2, 7, 2));
  EXPECT_THAT(std::vector<int64_t>(data->valid.classes.begin(), data->valid.classes.begin() + 8),
              ElementsAre(9, 2, 1, 1, 6, 1, 4, 6));
}

TEST_F(FileTest, TextAndLabels) {
  DataSpec spec;
  spec.source = Write("a.tsv", "id\ttext\tkind\n1\tred fox\tanimal\n2\tred rose\tplant\n3\told oak\tplant\n");
  spec.valid = "none";
  spec.text_column = "text";
  spec.label_column = "kind";
  spec.label_kind = LabelKind::kClass;
  const auto data = Load(spec);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->class_names, ElementsAre("animal", "plant"));
  EXPECT_THAT(data->train.classes, ElementsAre(0, 1, 1));
  // red 2; then fox, oak, old, rose.
  EXPECT_THAT(data->train.tokens, ElementsAre(3, 4, 3, 7, 6, 5));
  EXPECT_THAT(data->train.token_offsets, ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(data->valid.size(), 0);
  // Classes of a checkpoint stay as they are; labels that it does not know are refused.
  EXPECT_THAT(Load(spec, {"plant", "stone", "animal"})->train.classes, ElementsAre(2, 0, 0));
  EXPECT_THAT(std::string(Load(spec, {"plant", "stone"}).status().message()),
              HasSubstr("the label \"animal\" is none of the 2 classes"));
}

TEST_F(FileTest, FeaturesAndNumbers) {
  DataSpec spec;
  spec.source = Write("a.csv", "x,y,z\n1.5,-2,0.25\n+3,4e2, 7\n");
  spec.valid = Write("b.csv", "z,y,x\n1,2,3\n");
  spec.feature_columns = {"y", "x"};
  spec.label_column = "z";
  spec.label_kind = LabelKind::kNumber;
  const auto data = Load(spec);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->train.features, ElementsAre(-2.0F, 1.5F, 400.0F, 3.0F));
  EXPECT_THAT(data->train.numbers, ElementsAre(0.25, 7.0));
  EXPECT_THAT(data->valid.features, ElementsAre(2.0F, 3.0F));
}

TEST_F(FileTest, ErrorsNameFieldFileAndLine) {
  DataSpec spec;
  spec.source = Write("a.csv", "x,label\n1,a\n2,b\n3,\n");
  spec.valid = "none";
  spec.feature_columns = {"x"};
  spec.label_column = "labl";
  spec.label_kind = LabelKind::kClass;
  EXPECT_EQ(Load(spec).status().message(),
            "training.data.label_column: " + spec.source +
                " has no column \"labl\"; its columns are \"x\", \"label\". Did you mean \"label\"?");
  spec.label_column = "label";
  EXPECT_EQ(Load(spec).status().message(),
            "training.data.label_column: " + spec.source + ":4: column \"label\" is empty");
  spec.source = Write("one.csv", "x,label\n1,a\n2,a\n");
  EXPECT_THAT(std::string(Load(spec).status().message()), HasSubstr("only one class, \"a\""));
  spec.source = folder_ + "/missing.csv";
  EXPECT_TRUE(absl::IsNotFound(Load(spec).status()));
  spec.source = "wordnet:nouns";
  EXPECT_THAT(std::string(Load(spec).status().message()), HasSubstr("unknown part of WordNet \"nouns\""));
}

TEST_F(FileTest, HoldOutByContent) {
  std::string text = "x,y\n";
  for (int i = 0; i < 2000; ++i) text += std::to_string(i % 1000) + "," + std::to_string(i % 2) + "\n";
  DataSpec spec;
  spec.source = Write("a.csv", text);
  spec.feature_columns = {"x"};
  spec.label_column = "y";
  spec.label_kind = LabelKind::kClass;
  const auto data = Load(spec);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size() + data->valid.size(), 2000);
  EXPECT_NEAR(static_cast<double>(data->valid.size()), 200, 4 * 2 * 9.5);
  const std::set<uint64_t> trained(data->train.sample_hash.begin(), data->train.sample_hash.end());
  for (const uint64_t hash : data->valid.sample_hash) ASSERT_FALSE(trained.contains(hash));  // equal rows stay together
}

TEST_F(FileTest, Probe) {
  DataSpec spec;
  spec.source = Write("a.csv", "x,y\n1,a\n2,b\n3,a\n");
  spec.valid = "none";
  spec.feature_columns = {"x"};
  spec.label_column = "y";
  spec.label_kind = LabelKind::kClass;
  const Probe probe = ProbeDataset(spec, 100);
  EXPECT_TRUE(probe.problems.empty());
  EXPECT_TRUE(probe.complete);
  EXPECT_EQ(probe.train_rows, 3);
  EXPECT_EQ(probe.feature_dim, 1);
  EXPECT_FALSE(probe.has_text);
  spec.label_column = "z";
  ASSERT_EQ(ProbeDataset(spec, 100).problems.size(), 1u);
  EXPECT_EQ(ProbeDataset(spec, 100).problems[0].field, "training.data.label_column");

  // Case A15: a table of nothing but a header is no validation.
  spec.label_column = "y";
  spec.valid = Write("v.csv", "x,y\n");
  EXPECT_TRUE(ProbeDataset(spec, 100).problems.empty());
  const auto data = LoadDataset(spec, nullptr, {}, nullptr);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->valid.size(), 0);

  DataSpec wordnet;
  wordnet.limit = 1;
  EXPECT_EQ(ProbeDataset(wordnet, 4096).train_rows, 1);
  EXPECT_TRUE(ProbeDataset(wordnet, 4096).complete);
}

// "field label" of what a probe has seen.
std::vector<std::string> Labels(const DataSpec& spec) {
  std::vector<std::string> labels;
  for (const SeenLabel& seen : ProbeDataset(spec, 1).labels) labels.push_back(seen.field + " " + seen.label);
  return labels;
}

TEST_F(FileTest, ProbedLabelsAreThoseThatWillBeMet) {
  DataSpec spec;
  spec.source = Write("a.csv", "x,y\n1,b\n2,a\n3,b\n4,c\n");
  spec.valid = Write("v.csv", "x,y\n1,d\n2,a\n");
  spec.feature_columns = {"x"};
  spec.label_column = "y";
  spec.label_kind = LabelKind::kClass;
  const std::string train = "training.data.source ";
  const std::string valid = "training.data.valid ";
  EXPECT_THAT(Labels(spec), ElementsAre(train + "b", train + "a", train + "c", valid + "d", valid + "a"));
  // The first of them that the classes do not hold is the one that LoadDataset refuses.
  const std::string rest = " is none of the 2 classes that the model knows";
  EXPECT_EQ(LoadDataset(spec, nullptr, {"a", "b"}, nullptr).status().message(),
            train.substr(0, 20) + ": the label \"c\"" + rest);
  EXPECT_EQ(UnknownClassText("c", 2), "the label \"c\"" + rest);
  spec.limit = 3;  // "c" is not trained on
  EXPECT_THAT(Labels(spec), ElementsAre(train + "b", train + "a", valid + "d", valid + "a"));
  EXPECT_EQ(LoadDataset(spec, nullptr, {"a", "b"}, nullptr).status().message(),
            "training.data.valid: the label \"d\"" + rest);
  spec.label_kind = LabelKind::kNone;
  spec.label_column = "";
  EXPECT_THAT(Labels(spec), ElementsAre());
}

TEST_F(FileTest, ProbedLabelsOfHeldOutSamplesComeLast) {
  // Which rows are held out is told by LoadDataset itself.
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i) + ",c" + std::to_string(i) + "\n";
  DataSpec spec;
  spec.source = Write("a.csv", rows);
  spec.feature_columns = {"x"};
  spec.label_column = "y";
  spec.label_kind = LabelKind::kClass;
  spec.valid_fraction = 0.3;
  const auto data = Load(spec);
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_GT(data->valid.size(), 0);
  std::vector<std::string> right;
  for (const Split* split : {&data->train, &data->valid}) {
    for (const int64_t number : split->classes) {
      right.push_back("training.data.source " + data->class_names[static_cast<size_t>(number)]);
    }
  }
  EXPECT_EQ(Labels(spec), right);
}

}  // namespace
}  // namespace ddp
