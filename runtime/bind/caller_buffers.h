// The caller's buffers of a binding: what they must be, and which slots hold their addresses.
#pragma once

#include "runtime/bind/bound_program.h"

#include <span>
#include <utility>
#include <vector>

namespace sheaf {

class CallerBuffers {
 public:
  CallerBuffers() = default;
  explicit CallerBuffers(const BoundProgram& program);

  /// Plain, with their sizes: what take() requires.
  const std::vector<TensorSpec>& inputs() const { return inputs_.specs; }
  const std::vector<TensorSpec>& outputs() const { return outputs_.specs; }

  /// From here on `slot` holds the address `offset` bytes into the buffer of an input, or of an output.
  void hang(void** slot, const Tensor::Given& given, size_t offset);
  void hang(void** slot, const Tensor::Wanted& wanted, size_t offset);

  /// Stores the addresses of a run's buffers; addresses equal to the last run's cost nothing. Errors: a wrong
  /// number of buffers, one that is missing or misaligned; then nothing has changed.
  Result<void> take(std::span<const void* const> inputs, std::span<void* const> outputs);

  /// Some of the inputs and outputs: those from the first number up to the second.
  struct Some {
    std::pair<size_t, size_t> inputs, outputs;
  };
  Result<void> take(const Some& some, std::span<const void* const> inputs, std::span<void* const> outputs);

 private:
  /// A slot that holds an address in a buffer.
  struct Relocation {
    void** slot;
    size_t offset;
  };
  struct Side {
    std::vector<TensorSpec> specs;
    std::vector<std::vector<Relocation>> relocations;  ///< by buffer
    std::vector<const void*> addresses;                ///< the current ones in the slots

    bool holds(std::span<const void* const> buffers) const;
    // `buffers` are those from number `first` on.
    Result<void> check(size_t first, std::span<const void* const> buffers, const char* what) const;
    void put(size_t first, std::span<const void* const> buffers);
  };
  Side inputs_, outputs_;
  bool taken_ = false;
};

}  // namespace sheaf
