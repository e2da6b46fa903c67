// Checkpoint files: what is written is read; damaged or hostile files are refused with their place.
#include "runtime/base/file.h"
#include "runtime/data/safetensors.h"
#include "runtime/training/checkpoint_folder.h"
#include "runtime/training/checkpoint_json.h"
#include "tests/unit/runtime/training/fake_learner.h"

#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sheaf::training_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Checkpoint sample(int64_t step) {
  LoopSettings settings;
  settings.batch_size = 4;
  settings.seed = (uint64_t{1} << 62) + 1;
  Checkpoint checkpoint{identity(10, settings), 0.1, {}};  // three steps an epoch
  LoopState& state = checkpoint.state;
  state.step = step;
  state.epoch = step / 3;
  state.position = step % 3;
  state.rows = state.position * 4;
  state.loss_sum = 1.0 / 3 * static_cast<double>(state.position);
  state.seconds = 0.7;
  for (int64_t i = 0; i < state.epoch; ++i) {
    EpochRecord record;
    record.epoch = i + 1;
    record.steps = 3;
    record.train_loss = 2.0 / 3;
    record.rows = 10;
    if (i % 2 == 0)
      record.evaluation = Evaluation{
          i == 0 ? std::optional<double>(0.3) : std::nullopt, {{Metric::accuracy, 0.9}, {Metric::perplexity, 3.5}}, 5, 0.1};
    state.epochs.add(record);
  }
  for (int64_t i = 0; i < step; ++i) state.curve.add(1.0 / static_cast<double>(i + 1));
  return checkpoint;
}

class Checkpoints : public Folder {
 protected:
  float weight_ = 0.1F, velocity_ = -0.0F;
  std::vector<Parameter> parameters_ = fake_parameters();

  std::vector<TensorView> tensors() const {
    return {{"w", DType::float32, {1}, &weight_}, {"w.momentum_buffer", DType::float32, {1}, &velocity_}};
  }
  sheaf::Folder folder() const { return *sheaf::Folder::open(path("")); }
  std::string written(const Checkpoint& checkpoint) {
    const auto ok = write_checkpoint(folder(), "x.safetensors", checkpoint, tensors());
    EXPECT_TRUE(ok);
    return path("x.safetensors");
  }
  /// The error of reading `file` as a checkpoint of the parameters; "" if it is one.
  std::string refusal(const std::string& file) {
    const auto opened = CheckpointFile::open(folder(), file.substr(path("").size()));
    if (!opened) return to_string(opened.error());
    const auto read = opened->read(pointers(parameters_));
    return read ? "" : to_string(read.error());
  }
  /// `json` as the metadata of an otherwise sound checkpoint, with its checksum.
  std::string with_content(const nlohmann::json& json) {
    auto one = make_tensor(DType::float32, {1});
    const std::string content = json.dump();
    Checkpoint sound = sample(4);
    // The checksum of the metadata is taken from a file that the program wrote with the same bytes: it can't be obtained for
    // bytes that the program would not write, so those are summed here.
    uint32_t crc = 0xFFFFFFFF;
    for (const char c : content) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    const auto file = SafetensorsFile::open(written(sound));
    auto sums = nlohmann::json::parse(file->metadata().at("sheaf_checksums"));
    sums[""] = crc ^ 0xFFFFFFFF;
    EXPECT_TRUE(write_safetensors(path("made.safetensors"), tensors(),
                                  {{"sheaf_checkpoint", content}, {"sheaf_checksums", sums.dump()}}));
    return path("made.safetensors");
  }
};

TEST_F(Checkpoints, RoundTrip) {
  const Checkpoint before = sample(8);
  const auto opened = CheckpointFile::open(folder(), written(before).substr(path("").size()));
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(json_of(opened->content()), json_of(before));
  EXPECT_EQ(opened->content().identity.seed, (uint64_t{1} << 62) + 1);
  EXPECT_EQ(opened->content().state.loss_sum, before.state.loss_sum) << "to the last bit";
  EXPECT_EQ(opened->content().state.epochs.records()[1].evaluation.has_value(), false);
  EXPECT_EQ(opened->content().state.curve.points(), before.state.curve.points());
  const auto read = opened->read(pointers(parameters_));
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ((*read)[0].as<float>()[0], 0.1F);
  EXPECT_TRUE(std::signbit((*read)[1].as<float>()[0]));
}

TEST_F(Checkpoints, EveryByteIsGuarded) {
  const std::string file = written(sample(4));
  const std::string bytes = *read_file(file, 1 << 20);
  ASSERT_EQ(refusal(file), "");
  size_t unnoticed = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    std::ofstream(path("d.safetensors"), std::ios::binary) << damaged;
    const std::string error = refusal(path("d.safetensors"));
    if (error.empty()) ++unnoticed;
    else EXPECT_THAT(error, HasSubstr("d.safetensors: error: "));
  }
  // Only the space around the header's JSON may change.
  EXPECT_LE(unnoticed, 8U);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    std::ofstream(path("d.safetensors"), std::ios::binary) << bytes.substr(0, size);
    EXPECT_NE(refusal(path("d.safetensors")), "") << size;
  }
}

TEST_F(Checkpoints, HostileMetadata) {
  const nlohmann::json sound = json_of(sample(4));
  ASSERT_EQ(refusal(with_content(sound)), "");
  const std::vector<std::pair<const char*, nlohmann::json>> changes = {{"version", 4},
                                                                       {"version", 2},
                                                                       {"data", -1},
                                                                       {"epochs_stride", 0},
                                                                       {"epochs_stride", -2},
                                                                       {"version", "1"},
                                                                       {"plan", 7},
                                                                       {"rows", 0},
                                                                       {"rows", -5},
                                                                       {"rows", 1e300},
                                                                       {"rows", uint64_t{1} << 63},
                                                                       {"batch_size", 0},
                                                                       {"batch_size", nullptr},
                                                                       {"micro_batches", 0},
                                                                       {"seed", -1},
                                                                       {"seed", UINT64_MAX},
                                                                       {"shuffle", 1},
                                                                       {"drop_last", 0},
                                                                       {"devices", "cpu"},
                                                                       {"devices", {1, 2}},
                                                                       {"lr", nullptr},
                                                                       {"lr", "0.1"},
                                                                       {"step", -1},
                                                                       {"step", 5},
                                                                       {"step", uint64_t{1} << 60},
                                                                       {"epoch", 2},
                                                                       {"epoch", int64_t{1} << 52},
                                                                       {"position", 4},
                                                                       {"position", -2},
                                                                       {"epoch_rows", 5},
                                                                       {"epoch_loss_sum", nullptr},
                                                                       {"epochs", 3},
                                                                       {"epochs", nlohmann::json::array()},
                                                                       {"epochs", {1}},
                                                                       {"curve", {"a"}},
                                                                       {"curve", std::vector<double>(600)},
                                                                       {"curve_stride", 0},
                                                                       {"curve_count", 1},
                                                                       {"curve_sum", nullptr}};
  for (const auto& [field, value] : changes) {
    nlohmann::json changed = sound;
    changed[field] = value;
    EXPECT_THAT(refusal(with_content(changed)), HasSubstr("made.safetensors: error: not a sound checkpoint"))
        << field << " = " << value;
  }
  for (const auto& [field, value] : sound.items()) {
    nlohmann::json changed = sound;
    changed.erase(field);
    EXPECT_THAT(refusal(with_content(changed)), HasSubstr("'" + field + "' is missing"));
  }
  EXPECT_THAT(refusal(with_content(nlohmann::json::array())), HasSubstr("not a sound checkpoint"));
}

TEST_F(Checkpoints, TensorsThatAreNotThePlans) {
  const std::string file = written(sample(4));
  parameters_[0].shape = {2};
  EXPECT_THAT(refusal(file), HasSubstr("misshapen: 'w' is [1]; expected [2]"));
  parameters_[0].shape = {1};
  parameters_[0].dtype = DType::int32;
  EXPECT_THAT(refusal(file), HasSubstr("'w' is float32; expected int32"));
  parameters_[0] = {"other", DType::float32, {1}, false, {}, Json::object()};
  EXPECT_THAT(refusal(file), testing::AllOf(HasSubstr("missing: 'other'"), HasSubstr("superfluous: 'w'")));
}

TEST_F(Checkpoints, NoCheckpointAtAll) {
  ASSERT_TRUE(write_safetensors(path("w.safetensors"), tensors()));
  EXPECT_THAT(refusal(path("w.safetensors")), HasSubstr("no 'sheaf_checkpoint'"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(path("pipe")), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(path("absent")), HasSubstr("absent: error"));
}

class Folders : public Checkpoints {
 protected:
  std::vector<int64_t> steps(const CheckpointFolder& folder) {
    std::vector<int64_t> all;
    for (const auto& file : folder.list()) all.push_back(file.step);
    return all;
  }
  std::vector<std::string> told_;
  Result<std::optional<CheckpointFolder::Found>> newest(const CheckpointFolder& folder) {
    told_.clear();
    return folder.newest(sample(0).identity, pointers(parameters_),
                         [&](const Error& error) { told_.push_back(to_string(error)); });
  }
  void damage(const std::string& file) {
    std::string bytes = *read_file(file, 1 << 20);
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;
  }
};

TEST_F(Folders, KeepsTheLast) {
  auto folder = CheckpointFolder::open(path("a/b/c"), 2);
  ASSERT_TRUE(folder) << to_string(folder.error());
  std::ofstream(path("a/b/c/notes.txt")) << "mine";
  for (const int64_t step : {1, 2, 5, 9, 10}) ASSERT_TRUE(folder->save(sample(step), tensors()));
  EXPECT_THAT(steps(*folder), ElementsAre(10, 9));
  EXPECT_TRUE(std::filesystem::exists(path("a/b/c/notes.txt"))) << "what isn't a checkpoint stays";
  const auto found = newest(*folder);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->checkpoint.state.step, 10);
}

TEST_F(Folders, FallsBackToTheOneBeforeAndSaysSo) {
  auto folder = CheckpointFolder::open(path("c"), 3);
  ASSERT_TRUE(folder);
  for (const int64_t step : {1, 2, 3}) ASSERT_TRUE(folder->save(sample(step), tensors()));
  damage(folder->path_of(folder->list()[0]));
  auto found = newest(*folder);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->checkpoint.state.step, 2);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("checkpoint-0000000003.safetensors: error: tensor 'w.momentum_buffer' is damaged")));
  // Saving the next one removes those after it.
  ASSERT_TRUE(folder->save(sample(2), tensors()));
  EXPECT_THAT(steps(*folder), ElementsAre(2, 1));
  for (const auto& file : folder->list()) damage(folder->path_of(file));
  found = newest(*folder);
  ASSERT_FALSE(found);
  EXPECT_THAT(to_string(found.error()), HasSubstr("none of the 2 checkpoints in this folder is sound"));
  EXPECT_EQ(told_.size(), 2U);
}

TEST_F(Folders, AnEmptyOneHasNone) {
  auto folder = CheckpointFolder::open(path("c"), 3);
  ASSERT_TRUE(folder);
  const auto found = newest(*folder);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

TEST_F(Folders, RemovesStaleTemporariesAlone) {
  std::filesystem::create_directory(path("c"));
  const std::vector<std::string> stale{"checkpoint-0000000003.safetensors.sheaf-new",
                                       "checkpoint-0000000009.safetensors.sheaf-4011"};
  const std::vector<std::string> kept{"checkpoint-3.safetensors.sheaf-new", "w.safetensors.sheaf-new",
                                      "checkpoint-0000000003.safetensors.aB3xYz", "checkpoint-0000000003.safetensors.bak", "x"};
  for (const std::string& name : stale) std::ofstream(path("c/" + name)) << "half";
  for (const std::string& name : kept) std::ofstream(path("c/" + name)) << "other";
  auto folder = CheckpointFolder::open(path("c"), 3);
  ASSERT_TRUE(folder);
  for (const std::string& name : stale) EXPECT_FALSE(std::filesystem::exists(path("c/" + name))) << name;
  for (const std::string& name : kept) EXPECT_TRUE(std::filesystem::exists(path("c/" + name))) << name;
  EXPECT_TRUE(steps(*folder).empty());
}

TEST_F(Folders, OneRunAtATime) {
  auto first = CheckpointFolder::open(path("c"), 3);
  ASSERT_TRUE(first);
  const auto second = CheckpointFolder::open(path("c"), 3);
  ASSERT_FALSE(second);
  EXPECT_THAT(to_string(second.error()), HasSubstr("another run"));
}

TEST_F(Folders, ThatCannotBe) {
  std::ofstream(path("file")) << "";
  for (const char* name : {"file", "file/below"}) {
    const auto folder = CheckpointFolder::open(path(name), 3);
    ASSERT_FALSE(folder);
    EXPECT_THAT(to_string(folder.error()), HasSubstr(path(name) + ": error: "));
  }
}

// A process that only writes checkpoints is killed at random moments: a sound one is always left, and it is never older than
// the last that was finished.
TEST_F(Folders, KilledAtAnyMoment) {
  constexpr int kKills = 60;
  std::mt19937 random(7);
  std::vector<float> large(20'000);
  Parameter parameter{"large", DType::float32, {static_cast<int64_t>(large.size())}, false, {}, Json::object()};
  const std::vector<const Parameter*> expected{&parameter};
  int64_t step = 0, unfinished = 0;
  for (int kill_number = 0; kill_number < kKills; ++kill_number) {
    int finished[2];
    ASSERT_EQ(::pipe(finished), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(finished[0]);
      auto folder = CheckpointFolder::open(path("c"), 2);
      if (!folder) ::_exit(3);
      for (int64_t next = step + 1;; ++next) {
        std::fill(large.begin(), large.end(), static_cast<float>(next));
        const std::vector<TensorView> views{{"large", DType::float32, {static_cast<int64_t>(large.size())}, large.data()}};
        const int64_t begun = -next;
        if (::write(finished[1], &begun, sizeof begun) != sizeof begun) ::_exit(5);
        if (!folder->save(sample(next), views)) ::_exit(4);
        if (::write(finished[1], &next, sizeof next) != sizeof next) ::_exit(5);
      }
    }
    ::close(finished[1]);
    int64_t last_finished = step, told = 0;
    // In the first round, not before the first checkpoint is finished: until then there is nothing to lose.
    if (kill_number == 0) {
      while (told <= 0) ASSERT_EQ(::read(finished[0], &told, sizeof told), static_cast<ssize_t>(sizeof told));
      last_finished = told;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<int>(0, 20'000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself, with status " << WEXITSTATUS(status);
    while (::read(finished[0], &told, sizeof told) == static_cast<ssize_t>(sizeof told))
      last_finished = std::max(last_finished, told);
    ::close(finished[0]);
    if (told < 0) ++unfinished;

    auto folder = CheckpointFolder::open(path("c"), 2);
    ASSERT_TRUE(folder) << to_string(folder.error());
    for (const auto& entry : std::filesystem::directory_iterator(path("c"))) {
      EXPECT_TRUE(entry.path().string().ends_with(".safetensors")) << "left behind: " << entry.path();
    }
    const auto found =
        folder->newest(sample(0).identity, expected, [](const Error& error) { ADD_FAILURE() << to_string(error); });
    ASSERT_TRUE(found && *found);
    step = (*found)->checkpoint.state.step;
    EXPECT_GE(step, last_finished);
    for (const float value : (*found)->tensors[0].as<float>()) ASSERT_EQ(value, static_cast<float>(step));
  }
  EXPECT_GT(step, 0);
  EXPECT_GT(unfinished, 0) << "no kill met a checkpoint that was being written: the test shows nothing";
}

}  // namespace
}  // namespace sheaf::training_tests
