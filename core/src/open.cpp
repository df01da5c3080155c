#include "open.hpp"

#include <utility>

#include "abi/pack_rules.hpp"
#include "packs/packs.hpp"

namespace kvedit {

Expected<OpenedPacks> open_packs(const HostOptions& options) {
  Expected<LoadedPacks> loaded = load_packs(options);
  if (!loaded) return loaded.error();
  OpenedPacks opened;
  for (LoadedRule& rule : loaded->rules) {
    const PackTables& tables = loaded->packs[rule.pack].tables;
    opened.book.infos.push_back(rule.info);
    opened.book.rules.push_back(make_pack_rule(*tables.rules, rule.index, std::move(rule.info)));
  }
  for (const LoadedPack& pack : loaded->packs)
    if (pack.tables.validator != nullptr)
      opened.book.validators.push_back(make_pack_validator(*pack.tables.validator, pack.id));
  opened.book.problems = std::move(loaded->problems);
  opened.infos = std::move(loaded->infos);
  return opened;
}

}  // namespace kvedit
