#include "tests/ptx/emulator.h"
#include "tests/ptx/block_run.h"
#include "tests/ptx/races.h"

namespace sheaf::ptx {
namespace {

std::string words(const std::array<uint32_t, 3>& size) {
  return "(" + std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " + std::to_string(size[2]) + ")";
}

std::array<uint32_t, 3> position(uint64_t number, const std::array<uint32_t, 3>& size) {
  return {static_cast<uint32_t>(number % size[0]), static_cast<uint32_t>(number / size[0] % size[1]),
          static_cast<uint32_t>(number / size[0] / size[1])};
}

/// What the driver or the hardware refuses.
std::string wrong_size(const Kernel& kernel, const LaunchSize& size) {
  const auto& block = size.block;
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  if (!threads || threads > 1024 || block[2] > 64) return "a block of " + words(block) + " threads";
  if (!size.grid[0] || !size.grid[1] || !size.grid[2] || size.grid[0] > INT32_MAX || size.grid[1] > 65535 ||
      size.grid[2] > 65535)
    return "a grid of " + words(size.grid) + " blocks";
  uint64_t most = 1;
  for (uint32_t n : kernel.max_threads) most *= n;
  if (!kernel.max_threads.empty() && threads > most)
    return "a block of " + words(block) + " threads, of which .maxntid allows fewer";
  for (size_t i = 0; i < kernel.required_threads.size(); ++i)
    if (kernel.required_threads[i] != block[i]) return "a block of " + words(block) + " threads, not what .reqntid says";
  constexpr size_t kMostShared = 227 * 1024;
  if (kernel.shared_bytes + size.shared_bytes > kMostShared)
    return std::to_string(size.shared_bytes) + " bytes of dynamic shared memory";
  return {};
}

Error error_of(const Program& program, const Kernel& kernel, const LaunchSize& size, uint64_t number, const Fault& fault) {
  return Error({program.name, static_cast<int>(fault.line), 0},
               "kernel '" + kernel.name + "', block " + words(position(number, size.grid)) + ", thread " +
                   words(position(fault.thread, size.block)) + ": " + fault.what);
}

/// A cooperative launch: every block runs until it sleeps, then the next one, round and round.
Result<LaunchCounts> run_together(const Program& program, const Kernel& kernel, const LaunchSize& size,
                                  const void* const* arguments, Memory& memory, const LaunchOptions& options,
                                  RaceDetector& races) {
  const uint64_t blocks = uint64_t{size.grid[0]} * size.grid[1] * size.grid[2];
  constexpr uint64_t kMostBlocks = 512;  // more than today's GPUs hold of kernels launched this way
  if (blocks > kMostBlocks)
    return Error({program.name, 0, 0},
                 "kernel '" + kernel.name + "': " + std::to_string(blocks) + " blocks are never there at once");
  races.work_together(blocks);
  std::vector<std::unique_ptr<BlockRun>> all;
  for (uint64_t i = 0; i < blocks; ++i)
    all.push_back(
        std::make_unique<BlockRun>(program, kernel, size, arguments, memory, options.detect_races ? &races : nullptr));
  for (uint64_t i = 0; i < blocks; ++i) all[i]->start(i);
  uint64_t budget = options.instruction_limit, left = blocks;
  std::vector<bool> done(blocks, false);
  while (left > 0) {
    for (uint64_t i = 0; i < blocks; ++i) {
      const uint64_t number = options.reverse_blocks ? blocks - 1 - i : i;
      if (done[number]) continue;
      const Step step = all[number]->go_on(budget);
      if (step == Step::fault) return error_of(program, kernel, size, number, all[number]->fault());
      if (step != Step::next) continue;
      done[number] = true;
      --left;
    }
  }
  LaunchCounts counts{options.instruction_limit - budget, 0};
  for (const auto& block : all) counts.thread_instructions += block->thread_instructions();
  return counts;
}

}  // namespace

Result<PtxModule> PtxModule::parse(std::string_view text, const std::string& name) {
  auto parsed = parse_text(text, name);
  if (!parsed) return parsed.error();
  auto program = decode(*parsed);
  if (!program) return program.error();
  return PtxModule(*program);
}

bool PtxModule::has(std::string_view entry) const { return program_->kernels.find(entry) != program_->kernels.end(); }

std::vector<std::string> PtxModule::entries() const {
  std::vector<std::string> names;
  for (auto& [name, kernel] : program_->kernels) names.push_back(name);
  return names;
}

std::vector<ParameterInfo> PtxModule::parameters(std::string_view entry) const {
  auto found = program_->kernels.find(entry);
  return found == program_->kernels.end() ? std::vector<ParameterInfo>() : found->second.parameters;
}

Result<LaunchCounts> PtxModule::launch(std::string_view entry, const LaunchSize& size, const void* const* arguments,
                                       Memory& memory, const LaunchOptions& options) const {
  auto found = program_->kernels.find(entry);
  if (found == program_->kernels.end())
    return Error({program_->name, 0, 0}, "no entry '" + std::string(entry) + "' in this module");
  const Kernel& kernel = found->second;
  if (const std::string wrong = wrong_size(kernel, size); !wrong.empty())
    return Error({program_->name, 0, 0}, "kernel '" + kernel.name + "' cannot be launched with " + wrong);
  RaceDetector races;
  if (size.cooperative) return run_together(*program_, kernel, size, arguments, memory, options, races);
  BlockRun block(*program_, kernel, size, arguments, memory, options.detect_races ? &races : nullptr);
  uint64_t budget = options.instruction_limit;
  const uint64_t blocks = uint64_t{size.grid[0]} * size.grid[1] * size.grid[2];
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t number = options.reverse_blocks ? blocks - 1 - i : i;
    if (block.run(number, budget) == Step::next) continue;
    return error_of(*program_, kernel, size, number, block.fault());
  }
  return LaunchCounts{options.instruction_limit - budget, block.thread_instructions()};
}

}  // namespace sheaf::ptx
