#include "progress.hpp"

#include <unistd.h>
#include <cstdio>
#include <utility>

namespace kvedit::cli {

Progress::Progress(std::string what)
    : what_(std::move(what)), wanted_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show(std::size_t done, std::size_t of) {
  if (!wanted_ || of == 0) return;
  std::fprintf(stderr, "\r%s: %zu %%", what_.c_str(), done * 100 / of);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace kvedit::cli
