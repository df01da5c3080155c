#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "bench.hpp"
#include "clock.hpp"

using kvedit::AddressMap;
using kvedit::Error;
using kvedit::Expected;
using kvedit::Extent;

namespace {

// Ids of a group that has few blocks are repeated: the work is the same.
std::vector<std::int64_t> ids_of(std::int64_t blocks, std::size_t count, bool shuffled) {
  std::vector<std::int64_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = static_cast<std::int64_t>(i) % blocks;
  if (shuffled) std::shuffle(ids.begin(), ids.end(), std::mt19937(1));
  return ids;
}

double against_memory(const AddressMap& map, const std::vector<std::int64_t>& ids, int rounds) {
  std::vector<Extent> out(map.capacity(ids.size()));
  const std::size_t most = *map.write(ids, out);
  std::vector<Extent> plain(most);
  std::vector<Contender> contenders = {
      {"memory write",
       [&] {
         for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = {i, ids[0] > 0, 0};
         asm volatile("" : : "r"(plain.data()) : "memory");
       },
       [] {}},
      {"write", [&] { static_cast<void>(map.write(ids, out)); }, [] {}}};
  race(contenders, rounds);
  return contenders[1].median() / contenders[0].median();
}

}  // namespace

std::optional<Error> bench_addresses(const kvedit::Result& result, int rounds) {
  std::vector<std::vector<std::size_t>> groups(result.groups().size());
  for (std::size_t i = 0; i < result.layer_count(); ++i)
    if (result.layer(i).pages())
      groups[static_cast<std::size_t>(result.layer(i).group())].push_back(i);
  for (const std::vector<std::size_t>& layers : groups) {
    if (layers.empty()) continue;
    const Expected<AddressMap> map = AddressMap::make(result, layers);
    if (!map) return map.error();
    const kvedit::LayerResult first = result.layer(layers.front());
    for (const std::size_t count : {std::size_t{256}, std::size_t{65536}}) {
      const std::string what = "addresses, group " + std::to_string(first.group()) + ", " +
                               std::to_string(count) + " scattered ids";
      print_ratio(what,
                  against_memory(*map, ids_of(first.pages()->blocks, count, true), rounds),
                  "of a plain write of as many extents");
    }
  }
  return std::nullopt;
}
