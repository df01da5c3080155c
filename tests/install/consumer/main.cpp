#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <kvedit/kvedit.hpp>

namespace {

int fail(const kvedit::Error& error) {
  std::cerr << error.text() << '\n';
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: consumer REGISTRATION\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};

  auto registration = kvedit::read_registration(text);
  if (!registration) return fail(registration.error());
  auto host = kvedit::Host::open({});
  if (!host) return fail(host.error());

  const kvedit::Result result = host->edit(*registration);
  for (const auto& problem : result.problems()) std::cerr << problem.message << '\n';
  std::cout << (result.ok() ? "ok" : "not ok") << ", " << result.layer_count() << " layers, "
            << host->rules().size() << " rules\n";
  return result.ok() ? 0 : 1;
}
