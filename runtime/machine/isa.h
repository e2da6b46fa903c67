// Which of a plan's objects this CPU can run.
#pragma once

#include <string>
#include <vector>

namespace sheaf {

/// The x86-64 instruction-set levels (as the psABI names them) that this CPU and operating system support,
/// best first, among those that plans carry: "x86-64-v4", "x86-64-v3". Empty on an older CPU.
std::vector<std::string> supported_isa_levels();

/// What oneDNN uses of it (DNNL_MAX_CPU_ISA can hide parts): AVX2, and AVX-512 as in x86-64-v4.
bool has_avx2();
bool has_avx512();

/// Whether it multiplies bf16 values and sums them in f32 natively (AVX-512 BF16, or AMX), according to oneDNN: the
/// environment variable DNNL_MAX_CPU_ISA can hide that.
bool has_bf16();

/// Whether it multiplies whole matrices of bf16 (AMX), according to oneDNN.
bool has_amx();

/// oneDNN and the widest instructions that it uses on this CPU: "oneDNN 2.6.3, AVX-512 with bf16".
std::string library_and_instructions();
/// Only the latter.
const char* widest_instructions();

/// The name that the CPU reports ("AMD EPYC …"); "unknown CPU" if it reports none.
std::string cpu_model_name();

}  // namespace sheaf
