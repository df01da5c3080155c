#pragma once

#include <cstddef>
#include <string>

namespace kvedit::cli {

/// A line on standard error that says how far a command is; nothing where that is no terminal.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::size_t done, std::size_t of);

 private:
  std::string what_;
  bool wanted_;
  bool shown_ = false;
};

}  // namespace kvedit::cli
