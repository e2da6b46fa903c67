#include "tools/train/metrics_file.h"

#include "runtime/base/file.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sheaf {
namespace {

using MetricsLine = nlohmann::ordered_json;

std::string text_of(const MetricsLine& line) { return line.dump(-1, ' ', false, MetricsLine::error_handler_t::replace); }

double per_second(int64_t rows, double seconds) { return seconds > 0 ? static_cast<double>(rows) / seconds : 0; }

Error failure(const std::string& file) { return Error({file, 0, 0}, std::string("can't be written: ") + std::strerror(errno)); }

/// Whether the line belongs to the first `step` steps and `epochs` epochs of a run.
bool belongs(const std::string& line, int64_t step, int64_t epochs) {
  const MetricsLine json = MetricsLine::parse(line, nullptr, false);
  if (!json.is_object()) return false;
  const bool of_step = json.contains("step");
  const auto number = json.find(of_step ? "step" : "epoch");
  return number != json.end() && number->is_number_integer() && number->get<int64_t>() <= (of_step ? step : epochs);
}

/// The lines of FILE that belong to what a run has done; none if there is no such regular file.
std::string lines_so_far(const std::string& file, int64_t step, int64_t epochs) {
  const auto text = read_file(file, uint64_t{4} << 30);
  std::string kept;
  if (!text) return kept;
  for (size_t begin = 0, end; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = text->substr(begin, end - begin);
    if (belongs(line, step, epochs)) kept += line + "\n";
  }
  return kept;
}

void add_scale(MetricsLine& line, const std::optional<LossScale>& scale) {
  if (!scale) return;
  line["loss_scale"] = scale->scale;
  line["skipped_steps"] = scale->skipped;
}

}  // namespace

std::string metrics_line(const StepRecord& record) {
  MetricsLine line = {{"step", record.step}, {"epoch", record.epoch}, {"loss", record.loss}, {"lr", record.lr}};
  add_scale(line, record.loss_scale);
  line["samples_per_s"] = per_second(record.rows, record.seconds);
  return text_of(line);
}

std::string metrics_line(const EpochRecord& record) {
  MetricsLine line = {{"epoch", record.epoch}, {"seconds", record.seconds}, {"train_loss", record.train_loss}};
  if (record.evaluation) {
    const Evaluation& found = *record.evaluation;
    for (const auto& [metric, value] : found.metrics) line["eval_" + row_of(metric).name] = value;
    if (found.loss) line["eval_loss"] = *found.loss;
    line["eval_rows"] = found.rows;
    line["eval_seconds"] = found.seconds;
  }
  line["steps"] = record.steps;
  if (!record.complete) line["complete"] = false;
  line["lr"] = record.lr;
  add_scale(line, record.loss_scale);
  line["samples_per_s"] = per_second(record.rows, record.seconds);
  line["data_wait_seconds"] = record.data_wait_seconds;
  return text_of(line);
}

Result<MetricsFile> MetricsFile::open(const std::string& file, int64_t step, int64_t epochs) {
  struct stat info;
  const bool goes_on = step > 0 && ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode);
  if (goes_on) {
    SHEAF_TRY(write_file_atomically(file, lines_so_far(file, step, epochs)));
  }
  SHEAF_ASSIGN(auto descriptor, open_output(file, O_CREAT | O_APPEND | (goes_on ? 0 : O_TRUNC)));
  return MetricsFile(file, std::move(descriptor));
}

MetricsFile::~MetricsFile() {
  if (descriptor_.open()) (void)flush();
}

Result<void> MetricsFile::add(const std::string& line) {
  waiting_ += line;
  waiting_ += '\n';
  const auto now = std::chrono::steady_clock::now();
  if (waiting_.size() < 1 << 16 && now - flushed_ < std::chrono::milliseconds(500)) return {};
  flushed_ = now;
  return flush();
}

Result<void> MetricsFile::flush() {
  std::string_view rest = waiting_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_.get(), rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      const Error error = failure(file_);
      remove_part(static_cast<size_t>(rest.data() - waiting_.data()));
      waiting_.clear();
      return error;
    }
    if (written > 0) rest.remove_prefix(static_cast<size_t>(written));
  }
  waiting_.clear();
  return {};
}

/// Only `written` bytes of the pending text reached the file, so its last line may be incomplete. Anything but a regular file
/// keeps it.
void MetricsFile::remove_part(size_t written) {
  const size_t line = std::string_view(waiting_).substr(0, written).rfind('\n');
  const size_t part = written - (line == std::string_view::npos ? 0 : line + 1);
  const off_t size = ::lseek(descriptor_.get(), 0, SEEK_END);
  if (part > 0 && size >= static_cast<off_t>(part)) (void)::ftruncate(descriptor_.get(), size - static_cast<off_t>(part));
}

Result<void> MetricsFile::sync() {
  SHEAF_TRY(flush());
  if (::fdatasync(descriptor_.get()) == 0 || errno == EINVAL || errno == EROFS) return {};  // pipes and devices can't
  return failure(file_);
}

}  // namespace sheaf
