// Ratios, each from one run in which the contenders take turns; medians. Times of their own would
// say more about the machine than about kvedit.
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "bench.hpp"

using kvedit::Error;
using kvedit::Expected;

namespace {

std::optional<Error> bench(const std::string& path, int rounds) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const Expected<kvedit::Registration> registration = kvedit::read_registration(text.str());
  if (!registration) return registration.error();
  const Expected<kvedit::Host> host = kvedit::Host::open({});
  if (!host) return host.error();

  std::cout << path.substr(path.rfind('/') + 1) << ", " << rounds << " rounds\n";
  if (auto wrong = bench_edit(*host, *registration, rounds)) return wrong;
  return bench_addresses(host->edit(*registration), rounds);
}

}  // namespace

void print_ratio(const std::string& what, double ratio, const std::string& remark) {
  std::cout << "  " << std::left << std::setw(44) << what << std::right << std::fixed
            << std::setprecision(2) << std::setw(6) << ratio << "  " << remark << "\n";
}

int main(int argc, char** argv) {
  int rounds = 2000;
  int first = 1;
  if (argc > 2 && std::string(argv[1]) == "--rounds") {
    rounds = std::atoi(argv[2]);
    first = 3;
  }
  if (first >= argc || rounds < 1) {
    std::cerr << "usage: kvedit-bench [--rounds N] REGISTRATION.json…\n";
    return 2;
  }
  for (int i = first; i < argc; ++i)
    if (auto wrong = bench(argv[i], rounds)) {
      std::cerr << argv[i] << ": " << wrong->text() << "\n";
      return 1;
    }
  return 0;
}
