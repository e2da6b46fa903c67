#include "tools/train/plot.h"

#include "tools/cli/formatted.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace sheaf {
namespace {

using Point = std::pair<double, double>;

struct Line {
  std::string label, colour;
  std::vector<Point> points;
  double width = 2;
  bool markers = true;
};

struct Panel {
  std::string title;
  std::vector<Line> lines;
  double limit_y = 0;  ///< an upper bound of the values; 0: none
};

struct Range {
  double least = 0, most = 1;
};

/// The range an axis shows for values within `data`: all of them with some margin, so that small differences are visible, and
/// zero if it is so near that it costs less than half of the picture. The margin alone never goes below 0, nor above `limit`
/// (0: none).
Range axis_of(Range data, double limit) {
  Range shown = data;
  if (data.least > 0 && data.least < data.most / 2) shown.least = 0;
  const double span = shown.most - shown.least;
  const double room = span > 0 ? 0.06 * span : std::max(std::fabs(data.most) * 0.05, 1e-6);
  if (shown.least != 0) shown.least = data.least >= 0 ? std::max(0.0, shown.least - room) : shown.least - room;
  shown.most += room;
  if (limit > 0 && data.most <= limit) shown.most = std::min(shown.most, limit);
  return shown;
}

std::string svg_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '<') result += "&lt;";
    else if (c == '>') result += "&gt;";
    else if (c == '&') result += "&amp;";
    else if (c == '"') result += "&quot;";
    else if (static_cast<unsigned char>(c) >= 32) result += c;  // XML allows no control characters
  }
  return result;
}

/// 1, 2 or 5 times a power of ten, so that about five steps make up `range`.
double tick_distance(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (range / (power * factor) <= 6) return power * factor;
  }
  return power * 10;
}

class Drawing {
 public:
  static constexpr double kWidth = 460, kHeight = 320;  ///< of a panel
  static constexpr double kLeft = 56, kRight = 20, kTop = 56, kBottom = 44;

  void panel(const Panel& panel, double x) {
    double most_x = 1;
    bool any = false;
    Range data{0, 0};
    for (const Line& line : panel.lines) {
      for (const auto& [at, value] : line.points) {
        if (!std::isfinite(value)) continue;
        most_x = std::max(most_x, at);
        data = any ? Range{std::min(data.least, value), std::max(data.most, value)} : Range{value, value};
        any = true;
      }
    }
    const Range shown = any ? axis_of(data, panel.limit_y) : Range();
    left_ = x + kLeft;
    scale_x_ = (kWidth - kLeft - kRight) / most_x;
    scale_y_ = (kHeight - kTop - kBottom) / (shown.most - shown.least);
    least_y_ = shown.least;
    text(x + kLeft, 26, panel.title, "font-size=\"15\" font-weight=\"600\"");
    axes(most_x, shown.most);
    double legend = x + kLeft;
    for (const Line& line : panel.lines) {
      if (line.points.empty()) continue;
      draw(line);
      svg_ += formatted("<line x1=\"%.1f\" y1=\"41\" x2=\"%.1f\" y2=\"41\" stroke=\"%s\" stroke-width=\"%g\"/>\n", legend,
                        legend + 16, line.colour.c_str(), std::max(line.width, 1.5));
      text(legend + 21, 45, line.label, "font-size=\"11\"");
      legend += 40 + 6.2 * static_cast<double>(line.label.size());
    }
  }

  std::string finish(const std::string& title, double width) const {
    const double height = kHeight + 30;
    return formatted(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 -30 %g %g\" "
               "font-family=\"system-ui, sans-serif\" fill=\"#222\">\n<rect y=\"-30\" width=\"%g\" height=\"%g\" "
               "fill=\"#fff\"/>\n",
               width, height, width, height, width, height) +
           "<title>" + svg_escaped(title) + "</title>\n<text x=\"16\" y=\"-6\" font-size=\"17\" font-weight=\"700\">" +
           svg_escaped(title) + "</text>\n" + svg_ + "</svg>\n";
  }

 private:
  double at_x(double x) const { return left_ + x * scale_x_; }
  double at_y(double y) const { return kHeight - kBottom - (y - least_y_) * scale_y_; }

  void text(double x, double y, const std::string& content, const char* style) {
    svg_ += formatted("<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, style) + svg_escaped(content) + "</text>\n";
  }

  void axes(double most_x, double most_y) {
    const double right = at_x(most_x);
    const double step_y = tick_distance(most_y - least_y_);
    for (double tick = std::ceil(least_y_ / step_y) * step_y; tick <= most_y + step_y * 1e-6; tick += step_y) {
      const double y = at_y(tick);
      svg_ += formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", left_, y, right, y);
      text(left_ - 6, y + 4, formatted("%.4g", std::fabs(tick) < step_y / 1e6 ? 0.0 : tick),
           "font-size=\"11\" text-anchor=\"end\"");
    }
    const double step_x = std::max(tick_distance(most_x), most_x >= 2 ? 1.0 : 0.0);
    for (double tick = 0; tick <= most_x * 1.0001; tick += step_x) {
      const double x = at_x(tick);
      svg_ += formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#888\"/>\n", x, kHeight - kBottom, x,
                        kHeight - kBottom + 4);
      text(x, kHeight - kBottom + 17, formatted("%.4g", tick), "font-size=\"11\" text-anchor=\"middle\"");
    }
    svg_ += formatted("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#888\"/>\n", left_, kHeight - kBottom,
                      right, kHeight - kBottom);
    text((left_ + right) / 2, kHeight - 10, "epoch", "font-size=\"12\" text-anchor=\"middle\"");
  }

  void draw(const Line& line) {
    std::string path;
    for (const auto& [x, y] : line.points) {
      if (std::isfinite(y)) path += formatted("%.1f,%.1f ", at_x(x), at_y(y));
    }
    svg_ += "<polyline fill=\"none\" stroke=\"" + line.colour +
            formatted("\" stroke-width=\"%g\" stroke-linejoin=\"round\" points=\"", line.width) + path + "\"/>\n";
    if (!line.markers || line.points.size() > 60) return;
    for (const auto& [x, y] : line.points) {
      if (std::isfinite(y))
        svg_ += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", at_x(x), at_y(y), line.colour.c_str());
    }
  }

  std::string svg_;
  double left_ = 0, scale_x_ = 1, scale_y_ = 1, least_y_ = 0;
};

std::string with_last(const std::string& label, const std::vector<Point>& points) {
  return points.empty() ? label : label + formatted(" (%.4g at the end)", points.back().second);
}

}  // namespace

std::string training_plot(const std::string& title, const LossCurve& curve, int64_t steps_per_epoch,
                          std::span<const EpochRecord> epochs) {
  Line steps{"steps", "#9ec5e8", {}, 1.2, false}, train{"training", "#1f5fa8", {}}, loss{"evaluation", "#d9730d", {}};
  std::map<Metric, Line> metrics;
  const double per_epoch = static_cast<double>(std::max<int64_t>(steps_per_epoch, 1));
  const auto stride = static_cast<double>(curve.stride());
  for (size_t i = 0; i < curve.points().size(); ++i) {
    steps.points.emplace_back((static_cast<double>(i) + 0.5) * stride / per_epoch, curve.points()[i]);
  }
  for (const EpochRecord& epoch : epochs) {
    const double end = static_cast<double>(epoch.epoch - 1) + static_cast<double>(epoch.steps) / per_epoch;
    // A mean over the epoch is drawn at its middle, a value found after it at its end.
    train.points.emplace_back(end - static_cast<double>(epoch.steps) / per_epoch / 2, epoch.train_loss);
    if (epoch.evaluation && epoch.evaluation->loss) loss.points.emplace_back(end, *epoch.evaluation->loss);
    if (!epoch.evaluation) continue;
    for (const auto& [metric, value] : epoch.evaluation->metrics)
      metrics.try_emplace(metric, Line{"evaluation", "#2b8a3e", {}}).first->second.points.emplace_back(end, value);
  }
  Drawing drawing;
  double width = Drawing::kWidth;
  drawing.panel({"loss", {steps, train, loss}}, 0);
  for (auto& [metric, line] : metrics) {
    const MetricRow& row = row_of(metric);
    line.label = with_last(line.label, line.points);
    Panel panel{row.name, {line}};
    if (row.share) panel.limit_y = 1;
    drawing.panel(panel, width);
    width += Drawing::kWidth;
  }
  return drawing.finish(title, width);
}

}  // namespace sheaf
