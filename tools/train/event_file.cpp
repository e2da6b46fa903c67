#include "tools/train/event_file.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

namespace sheaf {
namespace {

// Fields of Event, SessionLog, Summary and Summary.Value.
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr int kStatus = 1, kStart = 1, kValue = 1, kTag = 1, kSimpleValue = 2;
enum WireType { varint = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

std::string varint_of(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

template <typename Bits>
std::string little_endian(Bits value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string key(int field, WireType type) { return varint_of(static_cast<uint64_t>(field) << 3 | type); }
std::string number_field(int field, uint64_t value) { return key(field, varint) + varint_of(value); }
std::string text_field(int field, std::string_view text) {
  return key(field, length_delimited) + varint_of(text.size()) + std::string(text);
}

uint32_t masked(uint32_t sum) { return (sum >> 15 | sum << 17) + 0xa282ead8U; }

Error cannot_write(const std::string& file, int code) {
  return Error({file, 0, 0}, std::string("can't be written: ") + std::strerror(code));
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82F63B78U : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  uint32_t sum = ~0U;
  for (const char byte : bytes) sum = table[(sum ^ static_cast<unsigned char>(byte)) & 0xFF] ^ sum >> 8;
  return ~sum;
}

Result<EventFile> EventFile::open(const std::string& folder, int64_t step) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code) return cannot_write(folder, code.value());
  // TensorBoard reads the files of a folder in the order of their names, which begin with the time.
  std::array<char, 64> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  const auto now =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::array<char, 64> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%010lld", static_cast<long long>(now / 1'000'000));
  const std::string file = folder + "/events.out.tfevents." + seconds.data() + "." + host.data() + "." +
                           std::to_string(getpid()) + "." + std::to_string(now % 1'000'000);
  Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) return cannot_write(file, errno);
  EventFile events(file, std::move(descriptor));
  events.add_event(0, text_field(kFileVersion, "brain.Event:2"));
  if (step > 0) events.add_event(step + 1, text_field(kSessionLog, number_field(kStatus, kStart)));
  SHEAF_TRY(events.flush());
  return events;
}

EventFile::~EventFile() { (void)flush(); }

void EventFile::add_event(int64_t step, std::string_view content) {
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string event = key(kWallTime, fixed64) + little_endian(std::bit_cast<uint64_t>(now));
  if (step != 0) event += number_field(kStep, static_cast<uint64_t>(step));
  event += content;
  const std::string length = little_endian<uint64_t>(event.size());
  waiting_ += length + little_endian(masked(crc32c(length))) + event + little_endian(masked(crc32c(event)));
}

void EventFile::add_scalar(int64_t step, std::string_view tag, double value) {
  const std::string scalar =
      text_field(kTag, tag) + key(kSimpleValue, fixed32) + little_endian(std::bit_cast<uint32_t>(static_cast<float>(value)));
  add_event(step, text_field(kSummary, text_field(kValue, scalar)));
}

Result<void> EventFile::add(const StepRecord& record) {
  add_scalar(record.step, "train/loss", record.loss);
  add_scalar(record.step, "train/lr", record.lr);
  if (record.seconds > 0) add_scalar(record.step, "train/samples_per_s", static_cast<double>(record.rows) / record.seconds);
  if (record.loss_scale) {
    add_scalar(record.step, "train/loss_scale", record.loss_scale->scale);
    add_scalar(record.step, "train/skipped_steps", static_cast<double>(record.loss_scale->skipped));
  }
  return flush_now_and_then();
}

Result<void> EventFile::add(const EpochRecord& record, int64_t step) {
  add_scalar(step, "epoch/train_loss", record.train_loss);
  if (record.seconds > 0) add_scalar(step, "epoch/data_wait_share", record.data_wait_seconds / record.seconds);
  if (record.evaluation) {
    if (record.evaluation->loss) add_scalar(step, "eval/loss", *record.evaluation->loss);
    for (const auto& [metric, value] : record.evaluation->metrics) add_scalar(step, "eval/" + row_of(metric).name, value);
  }
  return flush();
}

Result<void> EventFile::flush_now_and_then() {
  return std::chrono::steady_clock::now() - flushed_ < std::chrono::seconds(1) ? Result<void>() : flush();
}

Result<void> EventFile::flush() {
  flushed_ = std::chrono::steady_clock::now();
  for (size_t written = 0; descriptor_.get() >= 0 && written < waiting_.size();) {
    const ssize_t count = ::write(descriptor_.get(), waiting_.data() + written, waiting_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      waiting_.clear();
      return cannot_write(file_, errno);
    }
    written += static_cast<size_t>(count);
  }
  waiting_.clear();
  return {};
}

}  // namespace sheaf
