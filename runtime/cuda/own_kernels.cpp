#include "runtime/cuda/own_kernels.h"

#include "runtime/cuda/kernels/embedded.h"

#include <algorithm>

namespace sheaf::cuda {
OwnKernels::OwnKernels(Driver& driver, int device)
    : driver_(driver), device_(device), most_blocks_(unsigned(std::max(driver.properties(device).multiprocessors, 1)) * 16) {}

OwnKernels::~OwnKernels() {
  for (const Loaded& loaded : modules_) driver_.unload(device_, loaded.module);
}

void OwnKernels::abandon() {
  const std::scoped_lock lock(loading_);
  modules_.clear();
}

Result<std::shared_ptr<OwnKernels>> OwnKernels::open(Driver& driver, int device) {
  if (embedded_ptx().empty())
    return Error("this build has none of the project's own CUDA kernels: nvcc was not there; build with CUDA's compiler");
  return std::shared_ptr<OwnKernels>(new OwnKernels(driver, device));
}

std::shared_ptr<const unsigned> OwnKernels::meeting_word() {
  constexpr unsigned kWords = 4096;  // kMeetingWords of norm.cuh
  const std::scoped_lock lock(words_->mutex);
  if (words_->free.empty() && words_->next == kWords) return nullptr;
  unsigned word = words_->next;
  if (words_->free.empty()) {
    ++words_->next;
  } else {
    word = words_->free.back();
    words_->free.pop_back();
  }
  return {new unsigned(word), [words = words_](const unsigned* given) {
            const std::scoped_lock lock(words->mutex);
            words->free.push_back(*given);
            delete given;
          }};
}

Result<Function> OwnKernels::find(const std::string& file, const std::string& name) {
  const std::scoped_lock lock(loading_);
  auto loaded = std::find_if(modules_.begin(), modules_.end(), [&](const Loaded& entry) { return entry.file == file; });
  if (loaded == modules_.end()) {
    const auto& texts = embedded_ptx();
    const auto text = std::find_if(texts.begin(), texts.end(), [&](const EmbeddedPtx& entry) { return entry.name == file; });
    if (text == texts.end()) return Error("this build has no kernels '" + file + "'");
    auto module = driver_.load(device_, text->text);
    if (!module) return Error("the project's kernels '" + file + "': " + module.error().message());
    modules_.push_back({file, *module});
    loaded = modules_.end() - 1;
  }
  auto function = driver_.function(device_, loaded->module, name);
  if (!function) return Error("the project's kernel '" + name + "': " + function.error().message());
  return function;
}

}  // namespace sheaf::cuda
