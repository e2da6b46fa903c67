#include "tools/train/display.h"

#include "runtime/base/terminal.h"
#include "tools/cli/formatted.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

std::string rate_text(double samples_per_second) {
  if (samples_per_second < 100) return formatted("%.3g samples/s", samples_per_second);
  return with_thousands(std::llround(std::min(samples_per_second, 1e15))) + " samples/s";
}

}  // namespace

std::string with_thousands(int64_t number) {
  std::string text = std::to_string(number);
  const size_t sign = number < 0 ? 1 : 0;
  for (size_t at = text.size(); at > sign + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 1e12) + 0.5);
  if (whole >= 3600) return formatted("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
  return formatted("%lld:%02lld", whole / 60, whole % 60);
}

std::string metric_text(Metric metric, double value) {
  const MetricRow& row = row_of(metric);
  std::string name = row.name;
  std::ranges::replace(name, '_', ' ');
  return name + formatted(row.share ? " %.4f" : " %.4g", value);
}

std::string evaluation_text(const Evaluation& found, const std::string& prefix) {
  std::string text;
  for (const auto& [metric, value] : found.metrics) text += prefix + metric_text(metric, value) + ", ";
  return text + (found.loss ? prefix + formatted("loss %.4g", *found.loss) : prefix + "loss of nothing");
}

std::string wait_text(double waited, double seconds) {
  return formatted("%.1f%% waiting for data", seconds > 0 ? 100 * waited / seconds : 0);
}

std::string epoch_line(const EpochRecord& record, int64_t epochs) {
  std::string line = "epoch " + std::to_string(record.epoch) + "/" + std::to_string(epochs);
  if (!record.complete) line += " (" + std::to_string(record.steps) + (record.steps == 1 ? " step)" : " steps)");
  line += formatted("  train loss %.4g", record.train_loss);
  if (record.evaluation) {
    if (record.evaluation->loss) line += formatted("  eval loss %.4g", *record.evaluation->loss);
    for (const auto& [metric, value] : record.evaluation->metrics) line += "  eval " + metric_text(metric, value);
  }
  if (const auto& scale = record.loss_scale) {
    line += formatted("  loss scale %g, ", static_cast<double>(scale->scale)) + with_thousands(scale->skipped) +
            (scale->skipped == 1 ? " step skipped" : " steps skipped");
  }
  line += "  " + rate_text(record.seconds > 0 ? static_cast<double>(record.rows) / record.seconds : 0);
  line += formatted("  %.3g s", record.seconds);
  return line + ", " + wait_text(record.data_wait_seconds, record.seconds);
}

std::string bar_line(const RunLength& length, const StepRecord& record, double samples_per_second, double waiting,
                     double seconds_left, int width) {
  const int64_t position = (record.step - 1) % length.steps_per_epoch + 1;
  const std::string left = "epoch " + std::to_string(record.epoch) + "/" + std::to_string(length.epochs) + " ";
  const std::string right = " " + std::to_string(position) + "/" + std::to_string(length.steps_per_epoch) +
                            formatted("  loss %.4g", record.loss) + "  " + rate_text(samples_per_second) + "  " +
                            formatted("%.0f%% wait  ", 100 * waiting) + clock_text(seconds_left) + " left";
  const int room = std::min(width - static_cast<int>(left.size() + right.size()) - 2, 40);
  if (room < 4) return (left + right.substr(1)).substr(0, static_cast<size_t>(std::max(width, 0)));
  const int done =
      static_cast<int>(static_cast<double>(room) * static_cast<double>(position) / static_cast<double>(length.steps_per_epoch));
  std::string bar(static_cast<size_t>(done), '=');
  if (done < room) bar += '>';
  bar.resize(static_cast<size_t>(room), ' ');
  return left + "[" + bar + "]" + right;
}

Display::Display(std::FILE* to, const RunLength& length) : to_(to), terminal_(is_terminal(to)), length_(length) {}

void Display::clear() {
  if (bar_shown_) std::fputs("\r\x1b[K", to_);
  bar_shown_ = false;
}

void Display::step(const StepRecord& record) {
  if (!terminal_) return;
  ++steps_;
  seconds_ += record.seconds;
  waited_ += record.data_wait_seconds;
  const double rate = record.seconds > 0 ? static_cast<double>(record.rows) / record.seconds : 0;
  recent_rate_ = steps_ == 1 ? rate : 0.9 * recent_rate_ + 0.1 * rate;
  const auto now = std::chrono::steady_clock::now();
  if (now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const double left = seconds_ / static_cast<double>(steps_) * static_cast<double>(length_.steps - record.step);
  const double waiting = seconds_ > 0 ? waited_ / seconds_ : 0;
  // One column stays free: some terminals wrap a line that fills the last one.
  std::fprintf(to_, "\r%s\x1b[K", bar_line(length_, record, recent_rate_, waiting, left, columns_of(to_, 80) - 1).c_str());
  std::fflush(to_);
  bar_shown_ = true;
}

void Display::epoch(const EpochRecord& record) { say(epoch_line(record, length_.epochs)); }

void Display::say(const std::string& line) {
  clear();
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
}

}  // namespace sheaf
