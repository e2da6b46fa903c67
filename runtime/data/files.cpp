// The C++ interface's readers of whole files.
#include "sheaf/files.h"

#include "runtime/base/exception.h"
#include "runtime/data/idx.h"
#include "runtime/data/npy.h"
#include "runtime/data/safetensors.h"

namespace sheaf {
namespace {

Result<HostTensor> plain(Result<FileTensor> tensor) {
  if (!tensor) return std::move(tensor.error());
  return HostTensor(std::move(*tensor));
}

}  // namespace

Result<SafetensorsContent> read_safetensors(const std::string& file) try {
  SHEAF_ASSIGN(auto opened, SafetensorsFile::open(file));
  SafetensorsContent content;
  content.metadata = opened.metadata();
  for (const auto& [name, entry] : opened.entries()) {
    SHEAF_ASSIGN(auto tensor, plain(opened.read(name)));
    content.tensors.push_back({name, std::move(tensor)});
  }
  return content;
} catch (...) {
  return error_of_exception();
}

Result<HostTensor> read_npy(const std::string& file) try { return plain(load_npy(file)); } catch (...) {
  return error_of_exception();
}

Result<HostTensor> read_npz(const std::string& file, const std::string& key) try {
  return plain(load_npz(file, key));
} catch (...) {
  return error_of_exception();
}

Result<HostTensor> read_idx(const std::string& file) try { return load_idx(file); } catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
