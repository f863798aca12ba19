// IDX, npy, npz and safetensors. Files of testdata/ were written by numpy and safetensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "worker/data/idx.h"
#include "worker/data/npy.h"
#include "worker/data/testing.h"

namespace ddp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

// An IDX file: type, sizes, numbers.
std::string Idx(char type, const std::vector<uint32_t>& sizes, const std::string& numbers) {
  std::string bytes{0, 0, type, static_cast<char>(sizes.size())};
  for (const uint32_t size : sizes) bytes += BigEndian(size);
  return bytes + numbers;
}

class ArrayFilesTest : public DataTest {
 protected:
  ArrayFilesTest() { spec_.valid = "none"; }
  std::string WriteGz(const std::string& name, const std::string& bytes) const {
    gzFile file = gzopen((folder_ + "/" + name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return folder_ + "/" + name;
  }
  DataSpec spec_;
};

// 9 MB of zeros in some 10 KB: only the header is read, so what will be held out is not counted.
TEST_F(ArrayFilesTest, TheProbeGoesByTheUnpackedSize) {
  spec_.valid = "";
  spec_.source = WriteGz("large.idx.gz", Idx(8, {12000, 784}, std::string(12000 * 784, '\0')));
  const Probe large = ProbeDataset(spec_, 1);
  ASSERT_TRUE(large.problems.empty()) << large.problems[0].text;
  EXPECT_EQ(large.rows, 12000);
  EXPECT_FALSE(large.complete);
  spec_.source = WriteGz("small.idx.gz", Idx(8, {100, 784}, std::string(100 * 784, '\0')));
  const Probe small = ProbeDataset(spec_, 1);
  EXPECT_EQ(small.rows, 100);
  EXPECT_TRUE(small.complete);
}

TEST_F(ArrayFilesTest, NpyTypes) {  // G5
  struct Case {
    const char* name;
    std::vector<double> right;
  };
  const std::vector<double> right{1, 2, 3, 0, 1, 100};
  for (const char* name : {"u1", "i1", "le-u2", "be-i2", "le-u4", "be-i4", "le-u8", "le-i8", "le-f2", "le-f4", "be-f4",
                           "le-f8", "be-f8", "version2", "version3"}) {
    const auto array = ParseNpy(ReadAll(TestData(std::string(name) + ".npy")), name, false);
    ASSERT_TRUE(array.ok()) << name << array.status();
    EXPECT_THAT(array->shape, ElementsAre(2, 3)) << name;
    for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(array->Number(i), right[static_cast<size_t>(i)]) << name << i;
  }
  const auto bools = ParseNpy(ReadAll(TestData("bool.npy")), "b", false);
  ASSERT_TRUE(bools.ok()) << bools.status();
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(bools->Number(i), i == 3 ? 0 : 1);
  EXPECT_EQ(ParseNpy(ReadAll(TestData("scalar.npy")), "s", false)->shape.size(), 0u);
  EXPECT_THAT(ParseNpy(ReadAll(TestData("empty.npy")), "e", false)->shape, ElementsAre(0, 3));
}

std::string NpyError(const std::string& bytes) {
  const auto array = ParseNpy(bytes, "f.npy", false);
  return array.ok() ? "OK" : std::string(array.status().message());
}

std::string Npy(const std::string& header, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return bytes + header + data;
}

TEST_F(ArrayFilesTest, NpyThatIsRefused) {  // G5
  EXPECT_THAT(NpyError(ReadAll(TestData("objects.npy"))), HasSubstr("Python objects"));
  EXPECT_THAT(NpyError(ReadAll(TestData("structure.npy"))), HasSubstr("an array of structures"));
  EXPECT_THAT(NpyError(ReadAll(TestData("texts.npy"))), HasSubstr("an array of texts ('<U2')"));
  EXPECT_THAT(NpyError(ReadAll(TestData("fortran.npy"))), HasSubstr("Fortran order"));
  EXPECT_THAT(NpyError(Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (184)}", "")),
              HasSubstr("the shape (184) is no tuple"));
  // Keys in another order, CR LF in front of the data: both are read.
  EXPECT_EQ(NpyError(Npy("{'shape': (2,), 'fortran_order': False, 'descr': '|u1'}\r\n", "ab")), "OK");
}

TEST_F(ArrayFilesTest, HostileNpy) {  // G6
  EXPECT_THAT(NpyError(std::string("\x93NUMPY\2\0\xF0\xFF\xFF\xFF", 12)), HasSubstr("a header of 4294967280 bytes"));
  EXPECT_THAT(NpyError(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "")),
              HasSubstr("is too large"));
  EXPECT_THAT(NpyError(Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "")),
              HasSubstr("no natural number"));
  EXPECT_THAT(NpyError(Npy("{'descr': '<ixy', 'fortran_order': False, 'shape': (1,)}", "a")),
              HasSubstr("unknown element type ('<ixy')"));
  EXPECT_EQ(NpyError(Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "a")),
            "f.npy: byte 66: the shape [2] of uint8 needs 2 bytes, 1 follow the header");
  EXPECT_THAT(NpyError(Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "abc")),
              HasSubstr("needs 2 bytes, 3"));
  EXPECT_THAT(NpyError(Npy("{'descr': '|u1', 'fortran_order': False}", "")), HasSubstr("is missing"));
  EXPECT_THAT(NpyError(Npy("{'descr': '|u1', 'descr': '|u1'}", "")), HasSubstr("unknown or repeated key 'descr'"));
  EXPECT_THAT(NpyError(std::string("\x93NUMPY\7\0", 8)), HasSubstr("unknown version 7"));
  const std::string good = ReadAll(TestData("be-f8.npy"));
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(NpyError(good.substr(0, n)), "OK") << n;
}

TEST_F(ArrayFilesTest, NpyWithLabels) {
  spec_.source = TestData("le-f4.npy");
  spec_.labels =
      Write("y.npy", Npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}", std::string("\x07\0\xFE\xFF", 4)));
  spec_.label_kind = LabelKind::kClass;
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_THAT(data->train.features, ElementsAre(1, 2, 3, 0, 1, 100));
  EXPECT_EQ(data->train.feature_dim, 3);
  EXPECT_FALSE(data->image.is_image());
  EXPECT_THAT(data->class_names, ElementsAre("-2", "7"));  // by value
  EXPECT_THAT(data->train.classes, ElementsAre(1, 0));
  spec_.labels = Write("y.npy", Npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", "abc"));
  EXPECT_EQ(LoadError(spec_), "training.data.labels: " + spec_.labels + " has 3 labels for 2 samples");
  spec_.labels = Write("y.npy", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", std::string(8, '\0')));
  EXPECT_THAT(LoadError(spec_), HasSubstr("holds float32; classes are whole numbers"));
  spec_.labels = "";
  EXPECT_THAT(LoadError(spec_), HasSubstr("training.data.labels: not given"));
  spec_.label_kind = LabelKind::kNone;
  spec_.source = Write("x.npy", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}",
                                    std::string("\0\0\x80?\0\0\x80\x7F", 8)));
  EXPECT_EQ(LoadError(spec_),
            "training.data.source: " + spec_.source + ": byte 71: sample 0: inf is not a finite float32");
  spec_.source = TestData("empty.npy");
  EXPECT_THAT(LoadError(spec_), HasSubstr("the shape [0, 3] has no samples"));
  spec_.source = TestData("scalar.npy");
  EXPECT_THAT(LoadError(spec_), HasSubstr("the shape [] has no dimension of features"));
}

TEST_F(ArrayFilesTest, NpzAndSafetensors) {
  for (const char* name : {"stored.npz", "deflated.npz", "arrays.safetensors"}) {
    DataSpec spec;
    spec.valid = "none";
    spec.source = TestData(name);
    spec.feature_columns = {"images"};
    spec.label_column = "labels";
    spec.label_kind = LabelKind::kClass;
    const auto data = Load(spec);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(data->image.channels, 1);
    EXPECT_EQ(data->image.height, 2);
    EXPECT_EQ(data->image.width, 3);
    ASSERT_EQ(data->train.pixels.size(), 36u);
    for (size_t i = 0; i < 36; ++i) EXPECT_EQ(data->train.pixels[i], i);
    EXPECT_FLOAT_EQ(data->train.pixel_mean, 0.06862745098039215F);  // numpy: (arange(36) / 255).mean(), .std()
    EXPECT_FLOAT_EQ(data->train.pixel_std, 0.040738410567967114F);
    EXPECT_THAT(data->class_names, ElementsAre("0", "2", "10"));
    EXPECT_THAT(data->train.classes, ElementsAre(1, 2, 0, 1, 2, 0));

    const Probe probe = ProbeDataset(spec, 100);
    ASSERT_TRUE(probe.problems.empty()) << probe.problems[0].text;
    EXPECT_EQ(probe.train_rows, 6);
    EXPECT_EQ(probe.feature_dim, 6);
    EXPECT_EQ(probe.image.width, 3);

    spec.feature_columns = {"numbers"};
    spec.label_column = "targets";
    spec.label_kind = LabelKind::kNumber;
    const auto numbers = Load(spec);
    ASSERT_TRUE(numbers.ok()) << numbers.status();
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(numbers->train.features[i], static_cast<float>(i) / 4 - 1);
    EXPECT_THAT(numbers->train.numbers, ElementsAre(0, 0.5, 1, 1.5, 2, 2.5));

    spec.feature_columns = {"image"};
    EXPECT_THAT(LoadError(spec), HasSubstr(spec.source + " has no array \"image\"; its arrays are "));
    EXPECT_THAT(LoadError(spec), HasSubstr("Did you mean \"images\"?"));
    spec.feature_columns = {"images", "numbers"};
    EXPECT_THAT(LoadError(spec), HasSubstr("training.data.feature_columns: names 2 arrays"));
    spec.feature_columns = {};
    EXPECT_THAT(LoadError(spec), HasSubstr("training.data.feature_columns: not given: name an array of "));
    spec.feature_columns = {"images"};
    spec.label_column = "images";
    EXPECT_THAT(LoadError(spec), HasSubstr("training.data.label_column: "));
  }
  spec_.source = TestData("arrays.safetensors");
  spec_.feature_columns = {"half"};
  EXPECT_THAT(Load(spec_)->train.features, ElementsAre(0, 0.125F, 0.25F, 0.375F, 0.5F, 0.625F));
}

TEST_F(ArrayFilesTest, HostileNpz) {  // G6
  spec_.feature_columns = {"images"};
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string whole = ReadAll(TestData(name));
    for (size_t n = 0; n < whole.size(); n += 7) {
      spec_.source = Write("cut.npz", whole.substr(0, n));
      EXPECT_NE(LoadError(spec_), "OK") << n;
    }
  }
  spec_.source = Write("a.npz", "PK\3\4 not");
  EXPECT_THAT(LoadError(spec_), HasSubstr("no zip archive"));
}

TEST_F(ArrayFilesTest, IdxPlainAndPacked) {  // G8
  const std::string images = Idx(8, {4, 2, 2}, "abcdefghijklmnop");
  const std::string labels = Idx(8, {4}, std::string("\3\1\3\1", 4));
  spec_.label_kind = LabelKind::kClass;
  spec_.labels = Write("labels.idx", labels);
  // Packed or not, whatever the name says.
  for (const std::string& path : {Write("a-ubyte", images), WriteGz("b-ubyte.gz", images), WriteGz("c.idx", images),
                                  Write("d.idx.gz", images), Write("e.ubyte", images)}) {
    spec_.source = path;
    const auto data = Load(spec_);
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_EQ(std::string(data->train.pixels.begin(), data->train.pixels.end()), "abcdefghijklmnop");
    EXPECT_EQ(data->image.height, 2);
    EXPECT_THAT(data->class_names, ElementsAre("1", "3"));
    EXPECT_THAT(data->train.classes, ElementsAre(1, 0, 1, 0));
  }
}

TEST_F(ArrayFilesTest, IdxTypes) {
  const std::string bytes("\1\2\3\4\xFF\xFE\xFD\xFC", 8);
  struct Case {
    char type;
    std::vector<double> right;
  };
  for (const Case& c : {Case{8, {1, 2, 3, 4, 255, 254, 253, 252}}, Case{9, {1, 2, 3, 4, -1, -2, -3, -4}},
                        Case{0x0B, {0x102, 0x304, -2, -516}}, Case{0x0C, {0x1020304, -66052}}}) {
    const auto array = ReadIdx(Write("a.idx", Idx(c.type, {static_cast<uint32_t>(c.right.size())}, bytes)), false);
    ASSERT_TRUE(array.ok()) << array.status();
    for (size_t i = 0; i < c.right.size(); ++i) EXPECT_EQ(array->Number(static_cast<int64_t>(i)), c.right[i]);
  }
  // struct.pack(">f", 1.5), struct.pack(">d", -2)
  EXPECT_EQ(ReadIdx(Write("a.idx", Idx(0x0D, {1}, std::string("\x3f\xc0\0\0", 4))), false)->Number(0), 1.5);
  EXPECT_EQ(ReadIdx(Write("a.idx", Idx(0x0E, {1}, std::string("\xc0\0\0\0\0\0\0\0", 8))), false)->Number(0), -2);
}

TEST_F(ArrayFilesTest, WrongIdx) {  // G8
  const std::string images = Idx(8, {4, 2, 2}, "abcdefghijklmnop");
  const auto error = [&](const std::string& path) {
    spec_.source = path;
    return LoadError(spec_);
  };
  EXPECT_THAT(error(Write("a.idx.gz", "<!DOCTYPE html>")), HasSubstr("byte 0: no IDX file: it begins with '<!DO'"));
  const std::string packed = ReadAll(WriteGz("whole.idx.gz", images));
  EXPECT_THAT(error(Write("cut.idx.gz", packed.substr(0, packed.size() - 12))), HasSubstr("the file is cut"));
  EXPECT_THAT(
      error(Write("a.idx", Idx(8, {10001, 1}, std::string(10000, 'x')))),
      HasSubstr("byte 10012: the file ends here: the shape [10001, 1] of uint8 needs 10001 bytes, there are 10000"));
  EXPECT_THAT(error(Write("a.idx", images + "q")), HasSubstr("byte 32: bytes behind the last number"));
  EXPECT_THAT(error(Write("a.idx", Idx(8, {0, 2, 2}, ""))), HasSubstr("the shape [0, 2, 2] has no samples"));
  EXPECT_THAT(error(Write("a.idx", Idx(8, {0, 0xFFFFFFFF, 0xFFFFFFFF}, ""))), HasSubstr("has no samples"));
  EXPECT_THAT(error(Write("a.idx", Idx(8, {4}, "abcd"))), HasSubstr("are these the labels?"));
  EXPECT_THAT(error(Write("a.idx", Idx(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, ""))), HasSubstr("is too large"));
  EXPECT_THAT(error(Write("a.idx", Idx(8, {0x7FFFFFFF, 0x7FFFFFFF}, ""))), HasSubstr("there are 0"));
  EXPECT_THAT(error(Write("a.idx", Idx(7, {1}, "a"))), HasSubstr("no IDX file"));

  spec_.label_kind = LabelKind::kClass;
  spec_.labels = Write("y.idx", Idx(8, {3}, "abc"));
  EXPECT_EQ(error(Write("x.idx", images)), "training.data.labels: " + spec_.labels + " has 3 labels for 4 samples");
  // Of 2 classes, a third in the second file.
  spec_.labels = Write("y.idx", Idx(8, {4}, std::string("\0\1\0\1", 4)));
  spec_.valid = Write("v.idx", Idx(8, {1, 2, 2}, "abcd"));
  spec_.valid_labels = Write("w.idx", Idx(8, {1}, "\2"));
  EXPECT_EQ(LoadError(spec_), "training.data.valid: the label \"2\" is none of the 2 classes that the model knows");
  spec_.valid = Write("v.idx", Idx(8, {1, 2, 3}, "abcdef"));
  EXPECT_THAT(LoadError(spec_), HasSubstr("has 6 pixels (uint8), one of "));
}

TEST_F(ArrayFilesTest, ImageShapes) {
  spec_.source = Write("a.idx", Idx(8, {1, 2, 3, 4}, std::string(24, 'x')));
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->image.channels, 2);
  EXPECT_EQ(data->image.width, 4);
  EXPECT_EQ(data->train.pixel_std, 1);  // all pixels are equal
  spec_.source = Write("a.idx", Idx(8, {1, 32, 32, 3}, std::string(3072, 'x')));
  EXPECT_THAT(LoadError(spec_), HasSubstr("looks like [n, height, width, channels]"));
  spec_.image_shape = "32x32x3";
  EXPECT_EQ(Load(spec_)->image.channels, 32);
  spec_.source = Write("a.idx", Idx(8, {2, 6}, std::string(12, 'x')));
  spec_.image_shape = "";
  EXPECT_FALSE(Load(spec_)->image.is_image());
  spec_.image_shape = "1x2x3";
  EXPECT_EQ(Load(spec_)->image.height, 2);
}

TEST_F(ArrayFilesTest, PixelsAreMeasuredOnTheTrainingSide) {
  spec_.source = Write("a.idx", Idx(8, {4, 1}, std::string("\0\xFF\0\xFF", 4)));
  spec_.valid = Write("b.idx", Idx(8, {2, 1}, "xy"));
  spec_.limit = 1;
  const auto data = Load(spec_);
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->train.size(), 1);
  EXPECT_EQ(data->train.pixel_mean, 0.5F);
  EXPECT_EQ(data->valid.pixel_std, 0.5F);
}

}  // namespace
}  // namespace ddp
