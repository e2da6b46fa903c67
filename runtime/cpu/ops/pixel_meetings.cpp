#include "runtime/cpu/ops/pixel_meetings.h"

namespace sheaf {

std::vector<Meeting> meetings(const ConvShape& g) {
  std::vector<Meeting> result;
  for (int64_t oh = 0; oh < g.y[2]; ++oh) {
    for (int64_t ow = 0; ow < g.y[3]; ++ow) {
      for (int64_t kh = 0; kh < g.weight[2]; ++kh) {
        const int64_t ih = oh * g.stride[0] - g.padding_begin[0] + kh;
        if (ih < 0 || ih >= g.x[2]) continue;
        for (int64_t kw = 0; kw < g.weight[3]; ++kw) {
          const int64_t iw = ow * g.stride[1] - g.padding_begin[1] + kw;
          if (iw >= 0 && iw < g.x[3]) result.push_back({oh * g.y[3] + ow, ih * g.x[3] + iw, kh * g.weight[3] + kw});
        }
      }
    }
  }
  return result;
}

}  // namespace sheaf
