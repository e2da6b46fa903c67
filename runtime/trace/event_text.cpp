#include "runtime/trace/event_text.h"

#include <algorithm>
#include <cstdio>

namespace sheaf {
namespace {

std::string microseconds(int64_t nanoseconds) {
  char text[32];
  const int64_t size = std::max<int64_t>(nanoseconds, 0);
  std::snprintf(text, sizeof text, "%lld.%03lld", static_cast<long long>(size / 1000), static_cast<long long>(size % 1000));
  return text;
}

std::string whole(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", number);
  return text;
}

}  // namespace

std::string json_string(std::string_view text) {
  return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string slice_text(const TracedOperation& operation) {
  const std::string op = json_string(operation.op);
  std::string text = "\"name\":" + (operation.layer.empty() ? op : json_string(operation.layer)) + ",\"cat\":" + op +
                     ",\"args\":{\"op\":" + op;
  if (!operation.layer.empty()) text += ",\"layer\":" + json_string(operation.layer);
  if (!operation.implementation.empty()) text += ",\"implementation\":" + json_string(operation.implementation);
  if (operation.replica >= 0) text += ",\"replica\":" + std::to_string(operation.replica);
  text += ",\"read_bytes\":" + whole(operation.cost.read_bytes) + ",\"written_bytes\":" + whole(operation.cost.written_bytes);
  if (operation.cost.flops > 0) text += ",\"flops\":" + whole(operation.cost.flops);
  return text + ",";
}

void EventText::add_process(const std::string& name) {
  head_ += "{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":" + json_string(name) + "}},\n";
}

void EventText::add_track(int tid, const std::string& name) {
  const std::string number = std::to_string(tid);
  head_ += "{\"ph\":\"M\",\"pid\":1,\"tid\":" + number + ",\"name\":\"thread_name\",\"args\":{\"name\":" + json_string(name) +
           "}},\n";
  head_ += "{\"ph\":\"M\",\"pid\":1,\"tid\":" + number + ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":" + number +
           "}},\n";
}

void EventText::add_slice(int tid, int64_t begin_at, int64_t end_at, const std::string& rest) {
  begin(begin_at);
  body_ += "{\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(tid) + ",\"ts\":" + microseconds(begin_at) +
           ",\"dur\":" + microseconds(end_at - begin_at) + "," + rest + "}";
  end();
}

void EventText::add_flow(Point from, Point to, const std::string& rest) {
  const std::string id = std::to_string(++flows_);
  begin(from.at);
  body_ += "{\"ph\":\"s\",\"pid\":1,\"tid\":" + std::to_string(from.tid) + ",\"ts\":" + microseconds(from.at) +
           ",\"id\":" + id + "," + rest + "}";
  end();
  begin(to.at);
  body_ += "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":1,\"tid\":" + std::to_string(to.tid) + ",\"ts\":" + microseconds(to.at) +
           ",\"id\":" + id + "," + rest + "}";
  end();
}

void EventText::add_counter(int64_t at, const std::string& name, size_t bytes) {
  begin(at);
  body_ += "{\"ph\":\"C\",\"pid\":1,\"ts\":" + microseconds(at) + ",\"name\":" + name +
           ",\"args\":{\"live\":" + std::to_string(bytes) + "}}";
  end();
}

std::string EventText::text(const Json& other_data) const {
  std::vector<Event> sorted = events_;
  std::sort(sorted.begin(), sorted.end(),
            [](const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.offset < b.offset; });
  const std::string other = other_data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string file = "{\"displayTimeUnit\":\"ns\",\n\"otherData\":" + other + ",\n\"traceEvents\":[\n";
  file.reserve(file.size() + head_.size() + body_.size() + 2 * sorted.size() + 16);
  std::string_view head(head_);
  if (sorted.empty() && head.size() >= 2) head.remove_suffix(2);  // its last comma
  file += head;
  for (size_t i = 0; i < sorted.size(); ++i) {
    file.append(body_, sorted[i].offset, sorted[i].length);
    file += i + 1 < sorted.size() ? ",\n" : "";
  }
  return file + "\n]}\n";
}

}  // namespace sheaf
