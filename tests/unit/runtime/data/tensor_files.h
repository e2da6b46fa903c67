// What the tests of data files share: a folder of their own, and hand-made files.
#pragma once

#include "runtime/base/file.h"
#include "sheaf/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sheaf::data_tests {

class DataFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "sheaf-data-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string folder_;
};

/// The bytes of numbers as they lie in memory.
template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> values_of(const HostTensor& tensor) {
  const auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

template <typename T>
HostTensor tensor_of(DType dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  auto tensor = make_tensor(dtype, std::move(shape));
  EXPECT_TRUE(tensor);
  EXPECT_EQ(tensor->bytes.size(), values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(tensor->bytes.data(), values.data(), tensor->bytes.size());
  return *std::move(tensor);
}

/// A .npy file, version 1.0, padded as numpy does.
std::string npy(const std::string& descr, bool fortran_order, const std::string& shape, const std::string& data);

/// A zip archive of one entry; `deflated` compresses it.
std::string zip(const std::string& name, const std::string& content, bool deflated);

std::string gzip(const std::string& content);

}  // namespace sheaf::data_tests
