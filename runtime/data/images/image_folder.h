// A folder of pictures, one folder in it for each class, as torchvision's ImageFolder reads it.
#pragma once

#include "runtime/base/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

class ImageFolder {
 public:
  /// Lists the pictures (.jpg, .jpeg, .png, in any case) of DIR: those in a separate folder for each class, however deep, the
  /// classes in the order of their names, and in each the pictures by folder and name; or, if DIR has no folders, the pictures
  /// in it. Hidden files are left out. Errors, located at the folder: it can't be read; there are no pictures in it, or in one
  /// of the classes.
  static Result<ImageFolder> open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  int64_t rows() const { return static_cast<int64_t>(ends_.size()); }
  /// Names in order; empty: the pictures have no classes.
  const std::vector<std::string>& classes() const { return classes_; }
  int64_t class_of(int64_t row) const;
  /// The picture's file.
  std::string path(int64_t row) const { return folder_ + "/" + std::string(name(row)); }
  /// Files of other kinds that were left out.
  int64_t others() const { return others_; }
  /// A CRC-32 of names and sizes of all pictures. Error, located at the file: one is missing.
  Result<uint32_t> fingerprint() const;

 private:
  std::string_view name(int64_t row) const;
  Result<void> add_class(const std::string& name);
  std::string folder_;
  std::string names_;           ///< all of them, one after another: a few dozen bytes for each picture
  std::vector<uint64_t> ends_;  ///< where each ends
  std::vector<std::string> classes_;
  std::vector<int64_t> class_ends_;  ///< rows of this class and those before it
  int64_t others_ = 0;
};

}  // namespace sheaf
