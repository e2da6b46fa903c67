// Tables and texts as data.
#include "runtime/data/csv.h"
#include "runtime/data/source.h"
#include "tests/unit/runtime/data/tensor_files.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using data_tests::bytes_of;
using data_tests::DataFiles;
using data_tests::npy;
using data_tests::values_of;
using testing::ElementsAre;
using testing::HasSubstr;

class Tables : public DataFiles {
 protected:
  std::vector<float> floats(const std::string& source, int64_t columns) const {
    const auto tensor = load_source(path(source), {"x", DType::float32, {-1, columns}});
    if (!tensor) return ADD_FAILURE() << to_string(tensor.error()), std::vector<float>();
    return values_of<float>(*tensor);
  }
  std::string refused(const std::string& source, const SourceRequest& request) const {
    const auto tensor = load_source(path(source), request);
    return tensor ? "no error" : to_string(tensor.error());
  }
};

TEST_F(Tables, ColumnsByNameNumberAndRange) {
  write("t.csv", "age,height,\"the, label\"\r\n1,2.5,7\r\n\r\n 3 , -4e1,8\r\n5,6,\"9\"");
  EXPECT_THAT(floats("t.csv:height,age", 2), ElementsAre(2.5F, 1, -40, 3, 6, 5));
  EXPECT_THAT(floats("t.csv:age..3", 3), ElementsAre(1, 2.5F, 7, 3, -40, 8, 5, 6, 9));
  const auto label = load_source(path("t.csv:3"), {"label", DType::int64, {-1}});
  ASSERT_TRUE(label) << to_string(label.error());
  EXPECT_THAT(values_of<int64_t>(*label), ElementsAre(7, 8, 9));
  write("t.tsv", "1\t2\n3\t4\n");
  EXPECT_THAT(floats("t.tsv:2,1", 2), ElementsAre(2, 1, 4, 3)) << "a first line of numbers is a row";
}

TEST_F(Tables, RowsAreReadOneByOne) {
  std::string text = "a,b\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + ",\"" + std::to_string(-i) + "\"\n";
  write("t.csv", text);
  const auto source = open_source(path("t.csv:a..b"), {"x", DType::float32, {-1, 2}});
  ASSERT_TRUE(source) << to_string(source.error());
  EXPECT_EQ((*source)->rows(), 5000);
  std::vector<float> batch(6);
  ASSERT_TRUE((*source)->read(std::vector<int64_t>{4999, 7}, 0, {reinterpret_cast<std::byte*>(batch.data()), 3, 1}));
  EXPECT_THAT(batch, ElementsAre(0, 0, 4999, -4999, 7, -7));
}

TEST_F(Tables, ErrorsHaveLineAndColumn) {
  const SourceRequest two{"x", DType::float32, {-1, 2}}, classes{"label", DType::int64, {-1}};
  write("t.csv", "a,b,c\n1,2,3\n4, ,6\n");
  EXPECT_THAT(refused("t.csv:a,b", two), HasSubstr("t.csv:3:4: error: an empty field; 'x' takes float32 numbers"));
  write("t.csv", "a,b,c\n1,2,setosa\n");
  EXPECT_THAT(refused("t.csv:c", classes), HasSubstr("t.csv:2:5: error: 'setosa'; 'label' takes int64 numbers"));
  write("t.csv", "a,b\n1,2\n3\n");
  EXPECT_THAT(refused("t.csv:a,b", two), HasSubstr("t.csv:3: error: a record of 1 fields; the first has 2"));
  write("t.csv", "a,b\n1,2\n3,\"4\n5,6\n");
  EXPECT_THAT(refused("t.csv:a,b", two), HasSubstr("t.csv:3: error: a quote that doesn't end"));
  write("t.csv", "name,height\n1,2\n");
  EXPECT_THAT(refused("t.csv:nam", classes), HasSubstr("there is no column 'nam'; did you mean 'name'?"));
  EXPECT_THAT(refused("t.csv:name,height", classes), HasSubstr("2 columns are named"));
  EXPECT_THAT(refused("t.csv:height..name", two), HasSubstr("stands behind"));
  EXPECT_THAT(refused("t.csv", two), testing::AllOf(HasSubstr("which of its columns?"), HasSubstr("'height'")));
  write("t.csv", "a\n300\n");
  EXPECT_THAT(refused("t.csv:a", {"x", DType::uint8, {-1}}), HasSubstr("t.csv:2:1: error: '300'; 'x' takes uint8 numbers"));
}

TEST_F(Tables, QuotedFieldsMayHoldLineEnds) {
  write("t.csv", "note,x\n\"one\ntwo \"\"three\"\"\",5\nplain,wrong\n");
  EXPECT_THAT(refused("t.csv:x", {"x", DType::float32, {-1}}), HasSubstr("t.csv:4:7: error: 'wrong'"));
  const auto fields = parse_record("\"a \"\"b\"\"\",  c d , 3", ',');
  ASSERT_TRUE(fields);
  EXPECT_EQ((*fields)[0].text, "a \"b\"");
  EXPECT_EQ((*fields)[1].text, "c d");
  EXPECT_EQ((*fields)[1].column, 13);
}

class Texts : public DataFiles {};

TEST_F(Texts, RowsAreSequencesAndTheirSuccessors) {
  write("t.txt", "abcdefghi");
  const auto load = [&](const std::string& source, std::vector<int64_t> shape) {
    const auto tensor = load_source(source, {"x", DType::int64, std::move(shape)});
    if (!tensor) return ADD_FAILURE() << to_string(tensor.error()), std::vector<int64_t>();
    return values_of<int64_t>(*tensor);
  };
  EXPECT_THAT(load("text:" + path("t.txt"), {-1, 4}), ElementsAre('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'));
  EXPECT_THAT(load("text:" + path("t.txt") + ",next", {-1, 4}), ElementsAre('b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'));
  EXPECT_THAT(load("text:" + path("t.txt"), {3, -1}), ElementsAre('a', 'd', 'b', 'e', 'c', 'f')) << "a column is a sequence";
  write("t.npy", npy("<i4", false, "(5,)", bytes_of<int32_t>({10, 20, 30, 40, 50})));
  EXPECT_THAT(load("tokens:" + path("t.npy") + ",next", {-1, 2}), ElementsAre(20, 30, 40, 50));
  EXPECT_EQ((*open_source("text:" + path("t.txt"), {"x", DType::int64, {-1, 4}}))->below(), 256);
  const auto refused = [&](const std::string& source, std::vector<int64_t> shape, DType dtype = DType::int64) {
    return to_string(load_source(source, {"x", dtype, std::move(shape)}).error());
  };
  EXPECT_THAT(refused("text:" + path("t.txt"), {-1, 9}), HasSubstr("it has 9 tokens; a row needs 9 and one that comes next"));
  EXPECT_THAT(refused("text:" + path("t.txt"), {-1}), HasSubstr("[batch, length]"));
  EXPECT_THAT(refused("text:" + path("t.txt"), {-1, 2}, DType::float32), HasSubstr("integer type"));
  EXPECT_THAT(refused("tokens:random:4", {-1, 2}), HasSubstr("tokens are those of an array"));
}

// Above kKeptArrayBytes.
TEST_F(Texts, LargeOnesStayInTheFile) {
  std::string text(40 << 20, 'x');
  text[(39 << 20) + 5] = 'y';
  write("t.txt", text);
  const auto source = open_source("text:" + path("t.txt"), {"x", DType::int64, {-1, 1024}});
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->rows(), (40 << 10) - 1) << "the last token has no successor";
  const auto row = read_rows(**source, 39 << 10, 1);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->as<int64_t>()[4], 'x');
  EXPECT_EQ(row->as<int64_t>()[5], 'y');
  const auto before = (*source)->fingerprint();
  text[0] = 'z';
  write("t.txt", text);
  EXPECT_NE(*(*open_source("text:" + path("t.txt"), {"x", DType::int64, {-1, 1024}}))->fingerprint(), *before);
}

}  // namespace
}  // namespace sheaf
