// The smallest program that embeds the host: reads a registration, proves it, prints the page of
// each class of layers, and turns block ids into addresses.
#include <array>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include <kvedit/kvedit.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "usage: kvedit-embed REGISTRATION.json\n", 2;
  std::ifstream file(argv[1], std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  const auto registration = kvedit::read_registration(text.str());
  if (!registration) return std::cerr << registration.error().text() << "\n", 2;
  const auto host = kvedit::Host::open({});
  if (!host) return std::cerr << host.error().text() << "\n", 2;

  const kvedit::Result result = host->edit(*registration);
  for (const kvedit::Problem& problem : result.problems()) std::cerr << problem.message << "\n";
  if (!result.ok()) return 1;

  std::set<std::size_t> classes;
  for (std::size_t i = 0; i < result.layer_count(); ++i) {
    const kvedit::LayerResult layer = result.layer(i);
    const auto pages = layer.pages();
    if (!pages || !classes.insert(layer.layer_class()).second) continue;
    std::cout << layer.name() << ": " << to_text(layer.outcome()) << " by "
              << (layer.rule().empty() ? "no rule" : layer.rule()) << ", " << pages->kernel_pages
              << " kernel pages, " << pages->block_bytes << " bytes a block\n";

    const auto map = kvedit::AddressMap::make(result, std::array{i});
    if (!map) return std::cerr << map.error().text() << "\n", 1;
    const auto extents = map->extents(std::array<std::int64_t, 2>{0, pages->blocks - 1});
    if (!extents) return std::cerr << extents.error().text() << "\n", 1;
    for (const kvedit::Extent& each : *extents)
      std::cout << "  storage " << registration->data().storages[std::size_t(each.storage)].name
                << " + " << each.address << ": " << each.length << " bytes\n";
  }
  return 0;
}
