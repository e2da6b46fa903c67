#include "runtime/cpu/dnnl/dnnl_call.h"

#include <new>
#include <stdexcept>
#include <string>

namespace sheaf {
namespace {

// oneDNN checks arguments when a primitive is made; what is left is an exhausted machine, or a bug of ours.
// Going on would mean wrong numbers: the lane, or whoever runs it, makes an error of what is thrown.
void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  throw std::runtime_error(std::string("oneDNN failed to ") + what + " (status " + std::to_string(status) + ")");
}

}  // namespace

DnnlCall::DnnlCall(dnnl::primitive primitive) : primitive_(std::move(primitive)), stream_(dnnl_engine()) {}

DnnlCall& DnnlCall::argument(int name, const DnnlDesc& desc, BufferRef where) {
  if (desc.get_size() == 0) return *this;
  memories_.emplace_back(desc, dnnl_engine(), nullptr);
  arguments_.push_back({name, memories_.back().get()});
  places_.push_back(where);
  handles_.push_back(nullptr);
  return *this;
}

void DnnlCall::run(void* const* buffers, void* scratch) {
  for (size_t i = 0; i < places_.size(); ++i) {
    void* at = places_[i].resolve(buffers, scratch);
    if (at == handles_[i]) continue;
    check(dnnl_memory_set_data_handle_v2(arguments_[i].memory, at, stream_.get()), "set a buffer");
    handles_[i] = at;
  }
  check(dnnl_primitive_execute(primitive_.get(), stream_.get(), int(arguments_.size()), arguments_.data()), "run a primitive");
}

dnnl::primitive_attr step_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void DnnlExecutable::run(void* const* buffers, void* scratch) {
  set_team_size(threads_);
  for (DnnlCall& call : calls_) call.run(buffers, scratch);
}

}  // namespace sheaf
