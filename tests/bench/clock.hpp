#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// One thing that is timed beside others: `run` is timed, `after` is not.
struct Contender {
  std::string name;
  std::function<void()> run;
  std::function<void()> after;
  std::vector<std::int64_t> nanoseconds = {};

  double median() {
    std::sort(nanoseconds.begin(), nanoseconds.end());
    return static_cast<double>(nanoseconds[nanoseconds.size() / 2]);
  }
};

/// Runs all contenders in turn, so that what disturbs the machine disturbs all of them.
inline void race(std::vector<Contender>& contenders, int rounds) {
  using Clock = std::chrono::steady_clock;
  for (int round = 0; round < rounds; ++round)
    for (Contender& each : contenders) {
      const Clock::time_point begin = Clock::now();
      each.run();
      const Clock::time_point end = Clock::now();
      each.nanoseconds.push_back(
          std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count());
      each.after();
    }
}
