#include "runtime/data/images/image_folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include <zlib.h>

namespace sheaf {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReadable =
    "sheaf reads .jpg, .jpeg and .png; `mogrify -format jpg *.webp` (ImageMagick) converts others";
constexpr int kDeepest = 32;  // folders within folders: links may lead back

bool is_picture(const std::string& name) {
  std::string extension = fs::path(name).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

struct Listing {
  std::vector<std::string> files, folders;  ///< names, in order
};

Result<Listing> list_folder(const std::string& folder) {
  std::error_code code;
  fs::directory_iterator at(folder, code);
  Listing listing;
  for (; !code && at != fs::directory_iterator(); at.increment(code)) {
    std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code ignored;
    (at->is_directory(ignored) ? listing.folders : listing.files).push_back(std::move(name));
  }
  if (code) return Error({folder, 0, 0}, "can't be read: " + code.message());
  std::ranges::sort(listing.files);
  std::ranges::sort(listing.folders);
  return listing;
}

/// The folders below `folder`, it first, and their files: pairs in the order of the folders' paths.
Result<void> list_deep(const std::string& root, const std::string& folder, int depth,
                       std::vector<std::pair<std::string, std::vector<std::string>>>& all) {
  if (depth > kDeepest) return Error({root + "/" + folder, 0, 0}, "folders are nested too deep here; does a link lead back?");
  SHEAF_ASSIGN(auto listing, list_folder(root + "/" + folder));
  all.emplace_back(folder, std::move(listing.files));
  for (const std::string& inner : listing.folders) {
    SHEAF_TRY(list_deep(root, folder + "/" + inner, depth + 1, all));
  }
  return {};
}

}  // namespace

Result<ImageFolder> ImageFolder::open(const std::string& folder) {
  ImageFolder images;
  images.folder_ = folder;
  while (images.folder_.size() > 1 && images.folder_.ends_with('/')) images.folder_.pop_back();
  SHEAF_ASSIGN(const auto listing, list_folder(images.folder_));
  const auto refuse = [&](const std::string& what) {
    return Error({folder, 0, 0}, what).note(kReadable).note("DIR has a folder for each class, or pictures without classes");
  };
  for (const std::string& name : listing.folders) {
    SHEAF_TRY(images.add_class(name));
  }
  if (!images.classes_.empty()) return images;
  for (const std::string& name : listing.files) {
    if (!is_picture(name)) {
      ++images.others_;
      continue;
    }
    images.names_ += name;
    images.ends_.push_back(images.names_.size());
  }
  if (images.ends_.empty()) return refuse("there are no pictures in this folder");
  return images;
}

Result<void> ImageFolder::add_class(const std::string& name) {
  std::vector<std::pair<std::string, std::vector<std::string>>> folders;
  SHEAF_TRY(list_deep(folder_, name, 1, folders));
  std::ranges::sort(folders);
  const size_t before = ends_.size();
  for (const auto& [folder, files] : folders) {
    for (const std::string& file : files) {
      if (!is_picture(file)) {
        ++others_;
        continue;
      }
      names_ += folder + "/" + file;
      ends_.push_back(names_.size());
    }
  }
  if (ends_.size() == before)
    return Error({folder_ + "/" + name, 0, 0}, "there are no pictures in this class's folder").note(kReadable);
  classes_.push_back(name);
  class_ends_.push_back(rows());
  return {};
}

std::string_view ImageFolder::name(int64_t row) const {
  const auto at = static_cast<size_t>(row);
  const uint64_t begin = at > 0 ? ends_[at - 1] : 0;
  return std::string_view(names_).substr(begin, ends_[at] - begin);
}

int64_t ImageFolder::class_of(int64_t row) const { return std::ranges::upper_bound(class_ends_, row) - class_ends_.begin(); }

Result<uint32_t> ImageFolder::fingerprint() const {
  uLong sum = 0;
  for (int64_t row = 0; row < rows(); ++row) {
    std::error_code code;
    const auto size = static_cast<uint64_t>(fs::file_size(path(row), code));
    if (code) return Error({path(row), 0, 0}, "can't be read: " + code.message());
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(name(row).data()), name(row).size());
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(&size), sizeof size);
  }
  return static_cast<uint32_t>(sum);
}

}  // namespace sheaf
