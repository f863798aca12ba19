// Text lines and JSON lines, and cases G1 to G3 of tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/data/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextFilesTest : public DataTest {
 protected:
  TextFilesTest() {
    spec_.valid = "none";
    spec_.tokenizer = "bytes";
  }
  std::string ErrorOfText(const std::string& bytes) {
    spec_.source = Write("a.txt", bytes);
    return LoadError(spec_);
  }
  std::string ErrorOfJson(const std::string& bytes) {
    spec_.source = Write("a.jsonl", bytes);
    return LoadError(spec_);
  }
  DataSpec spec_;
};

TEST_F(TextFilesTest, TextLines) {
  spec_.source = Write("a.txt",
                       "\xEF\xBB\xBF"
                       "ab\r\n\n  \t\nc\xC3\xA4\n d");
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  // Bytes + 3: a 97, b 98, c 99, d 100, space 32, and C3 A4.
  EXPECT_THAT(data->train.token_offsets, ElementsAre(0, 2, 5, 7));
  EXPECT_THAT(data->train.tokens, ElementsAre(100, 101, 102, 0xC3 + 3, 0xA4 + 3, 35, 103));
}

TEST_F(TextFilesTest, WrongTextLines) {  // G2, G12
  EXPECT_THAT(ErrorOfText("it's\nit\x92s\n"),
              HasSubstr("a.txt:2: byte 7: 0x92 begins no UTF-8 character; save the file as UTF-8"));
  EXPECT_THAT(ErrorOfText(std::string("a\nb\0c\n", 6)), HasSubstr("a.txt:2: byte 3: a NUL byte"));
  EXPECT_THAT(ErrorOfText("ok\nfine\nabc\xE2\x82"), HasSubstr("a.txt:3: byte 11: 0xE2 begins no UTF-8 character"));
  EXPECT_THAT(ErrorOfText("\xFF\xFE"
                          "a"),
              HasSubstr("is UTF-16 text"));
  EXPECT_THAT(ErrorOfText("\n\n"), HasSubstr("holds no line of text"));
  EXPECT_THAT(ErrorOfText(""), HasSubstr("holds no line of text"));
  spec_.text_column = "text";
  EXPECT_THAT(ErrorOfText("a\n"), HasSubstr("training.data.text_column: does not apply: "));
  spec_.text_column = "";
  spec_.label_kind = LabelKind::kClass;
  EXPECT_THAT(ErrorOfText("a\n"), HasSubstr("training.objective: needs labels, and "));
}

TEST_F(TextFilesTest, CsvQuotesAndLineBreaks) {  // G1
  spec_.text_column = "text";
  spec_.label_column = "label";
  spec_.label_kind = LabelKind::kClass;
  for (const std::string end : {"\n", "\r\n"}) {
    spec_.source = Write("a.csv", "text,label" + end + "\"a" + end + "b\",1" + end + "\"c, \"\"d\"\"\",0" + end);
    const auto data = Load(spec_);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->train.size(), 2);
    EXPECT_THAT(data->train.classes, ElementsAre(1, 0));
    const std::string text = "a" + end + "bc, \"d\"";
    std::vector<int32_t> bytes;
    for (const char c : text) bytes.push_back(c + 3);
    EXPECT_EQ(data->train.tokens, bytes);
  }
  spec_.source = Write("a.csv", "text,label\n\"a,1\n");
  EXPECT_THAT(LoadError(spec_), HasSubstr("a.csv:2: the quoted field that begins here is never closed"));
  spec_.source = Write("a.csv", "text,label\na,1\nb,1,2\n");
  EXPECT_THAT(LoadError(spec_), HasSubstr("a.csv:3: 3 fields, but the header has 2"));
  spec_.source = Write("a.csv", "text;label\na;1\n");
  EXPECT_THAT(LoadError(spec_), HasSubstr("has no column \"text\"; its columns are \"text;label\""));
}

TEST_F(TextFilesTest, ByteOrderMark) {  // G2
  spec_.text_column = "text";
  spec_.label_column = "label";
  spec_.label_kind = LabelKind::kClass;
  spec_.source = Write("a.csv", "\xEF\xBB\xBFlabel,text\n1,a\n2,b");
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->class_names, ElementsAre("1", "2"));
  spec_.source = Write("a.csv", std::string("\xFF\xFEl\0a\0", 6));
  EXPECT_THAT(LoadError(spec_), HasSubstr("is UTF-16 text; save it as UTF-8"));
}

TEST_F(TextFilesTest, JsonLines) {  // G3
  spec_.feature_columns = {"field"};
  spec_.source = Write("a.jsonl", R"({"field": 1})");
  EXPECT_THAT(Load(spec_)->train.features, ElementsAre(1.0F));
  spec_.source = Write("a.jsonl", "{\"field\": 1.5, \"more\": [{\"x\": null}]}\r\n\n \n{\"field\":-2e3}\n");
  EXPECT_THAT(Load(spec_)->train.features, ElementsAre(1.5F, -2000.0F));
  // A line of 20 MB.
  spec_.feature_columns.clear();
  spec_.text_column = "t";
  spec_.max_tokens = 4;
  spec_.source = Write("a.jsonl", R"({"t": "ab", "label": true})"
                                  "\n"
                                  R"({"label": false, "t": ")" +
                                      std::string(20'000'000, 'x') + "\"}\n");
  spec_.label_column = "label";
  spec_.label_kind = LabelKind::kClass;
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->train.token_offsets, ElementsAre(0, 2, 6));
  EXPECT_THAT(data->class_names, ElementsAre("false", "true"));
  EXPECT_THAT(data->train.classes, ElementsAre(1, 0));
}

TEST_F(TextFilesTest, WrongJsonLines) {  // G3
  spec_.feature_columns = {"field"};
  const std::string mixed = ErrorOfJson("{\"field\": 1}\n{\"field\": \"Nan\"}\n{\"field\": 3}\n");
  EXPECT_EQ(mixed, "training.data.feature_columns: " + spec_.source + ":2: key \"field\": \"Nan\" is no number");
  EXPECT_THAT(ErrorOfJson("{\"field\":1}{\"field\":2}"), HasSubstr("a.jsonl:1: no JSON, or more than one value"));
  EXPECT_THAT(ErrorOfJson("{\"field\":1}\n[1]"), HasSubstr("a.jsonl:2: no JSON object, but array"));
  EXPECT_THAT(ErrorOfJson("\n{\"field\":1,\"field\":2}"), HasSubstr("a.jsonl:2: the key \"field\" stands twice"));
  EXPECT_THAT(ErrorOfJson("{\"feild\":1}"), HasSubstr("a.jsonl:1: no key \"field\"; did you mean \"feild\"?"));
  EXPECT_THAT(ErrorOfJson("{\"field\":NaN}"), HasSubstr("a.jsonl:1: no JSON"));
  EXPECT_THAT(ErrorOfJson("{\"field\":1e99}"), HasSubstr("1e+99 is too large for a float32"));
  EXPECT_THAT(ErrorOfJson("{\"field\":1e999}"), HasSubstr("a.jsonl:1: no JSON"));
  EXPECT_THAT(ErrorOfJson("{\"field\":" + std::string(5000, '[')), HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(ErrorOfJson(" \n"), HasSubstr("holds no line"));
  spec_.label_kind = LabelKind::kClass;
  spec_.label_column = "y";
  EXPECT_THAT(ErrorOfJson("{\"field\":1,\"y\":1}\n{\"field\":1,\"y\":\"1\"}"),
              HasSubstr("training.data.label_column: " + spec_.source + ":2: key \"y\": \"1\" is no number as above"));
  EXPECT_THAT(ErrorOfJson("{\"field\":1,\"y\":1.5}"), HasSubstr("1.5 is no string, whole number or boolean"));
  EXPECT_THAT(ErrorOfJson("{\"field\":1,\"y\":null}"), HasSubstr("null is no string, whole number or boolean"));
}

TEST_F(TextFilesTest, FormatsAndFieldsThatDoNotFit) {
  spec_.source = Write("a.txt", "a\nb\n");
  spec_.valid = Write("b.csv", "x\n1\n");
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.data.valid: "));
  EXPECT_THAT(LoadError(spec_), HasSubstr("must be \"none\" or a text file"));
  spec_.valid = Write("b.txt", "c\n");
  spec_.labels = "/labels.npy";
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.data.labels: is for IDX and .npy files"));
  spec_.labels = "";
  spec_.token_type = "uint16";
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.data.token_type: is for files of tokens (.bin)"));
  spec_.token_type = "";
  EXPECT_EQ(Load(spec_)->valid.size(), 1);
  spec_.source = "/data/file.parquet";
  EXPECT_THAT(LoadError(spec_), HasSubstr("unknown data \"/data/file.parquet\""));
}

TEST_F(TextFilesTest, ImageShapeOfATable) {
  spec_.source = Write("a.csv", "a,b,c,d,e,f\n1,2,3,4,5,6\n");
  spec_.feature_columns = {"a", "b", "c", "d", "e", "f"};
  spec_.image_shape = "3x1x2";
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->image.channels, 3);
  EXPECT_EQ(data->image.height, 1);
  EXPECT_EQ(data->image.width, 2);
  EXPECT_EQ(ProbeDataset(spec_, 1).image.channels, 3);
  spec_.image_shape = "1x2x2";
  EXPECT_EQ(LoadError(spec_),
            "training.data.image_shape: \"1x2x2\" has 4 values, a sample of " + spec_.source + " has 6");
  for (const char* wrong : {"2x3", "0x2x3", "1x2x3x", "1x-2x3", "1x2x99999999999999999999", "axbxc", "1x2x3 "}) {
    spec_.image_shape = wrong;
    EXPECT_THAT(LoadError(spec_), HasSubstr("must be CxHxW")) << wrong;
  }
}

}  // namespace
}  // namespace ddp
