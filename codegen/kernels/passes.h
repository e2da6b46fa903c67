// The passes that turn kernels (func.func over flat memrefs, scf, arith, math) into functions of the plan's
// binary interface. In pipeline order; codegen/kernels/pipeline.cpp says why in that order.
#pragma once

#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace sheaf::kernels {

/// On a function: it is a kernel.
inline constexpr llvm::StringLiteral kernel_attribute = "kernel";
/// On a kernel, an array of buffer positions: these may be one and the same buffer, since at each position
/// all reads come before the writes and no iteration reads what another writes.
inline constexpr llvm::StringLiteral in_place_attribute = "in_place";

/// On a kernel, a dictionary: its GpuSchedule (emitter.h), `block`, `lanes` and, where
/// so, `columns` and `each`.
inline constexpr llvm::StringLiteral schedule_attribute = "gpu_schedule";
/// On a kernel: one flat loop over elements, without extents. It can be launched for several tensors at once (launches_many()).
inline constexpr llvm::StringLiteral many_attribute = "many";
/// On what became of it: the number of threads of a block.
inline constexpr llvm::StringLiteral block_attribute = "gpu_block";

/// On func.func: fast-math flags reassoc, nsz, contract on floating-point ops that have none.
std::unique_ptr<mlir::Pass> create_fast_math_pass();
/// On func.func: math functions without an instruction become polynomials.
std::unique_ptr<mlir::Pass> create_expand_math_pass();
/// On func.func: memref<?xT> arguments become memref<1xT>, which a bare pointer can stand for, with noalias.
std::unique_ptr<mlir::Pass> create_kernel_abi_pass();
/// On a module: arith, math, memref, cf and func become the LLVM dialect, arguments bare pointers.
std::unique_ptr<mlir::Pass> create_kernel_lowering_pass();
/// On a module in the LLVM dialect: gives each kernel its entry `(ptr buffers, ptr extents, i64 begin, i64
/// end)`, and marks the loops of in-place kernels as free of dependences.
std::unique_ptr<mlir::Pass> create_kernel_entry_pass();

/// On a module: kernels with a schedule become the functions that a GPU's threads run, `K` and, where it is marked
/// `many`, `K_many` (docs/cuda.md), with NVVM's thread numbers, shuffles and barriers.
std::unique_ptr<mlir::Pass> create_gpu_schedule_pass();
/// On a module in the LLVM dialect: such functions become entries of PTX.
std::unique_ptr<mlir::Pass> create_ptx_entry_pass();

/// Registers all of the above with MLIR's pass registry, for sheaf-opt.
void register_kernel_passes();

}  // namespace sheaf::kernels
