#include "problems.hpp"

namespace kvedit::python {
namespace {

Ref none() { return Ref::share(Py_None); }

Ref facts_of(const Problem& problem) {
  Ref facts = Ref::take(PyDict_New());
  for (const Fact& fact : problem.facts) {
    const auto* integer = std::get_if<std::int64_t>(&fact.value);
    const Ref value = integer ? number(*integer) : text(std::get<std::string>(fact.value));
    check(PyDict_SetItem(facts.get(), text(fact.name).get(), value.get()));
  }
  return facts;
}

}  // namespace

Ref list_of(std::span<const Problem> problems) {
  Ref list = Ref::take(PyList_New(0));
  for (const Problem& problem : problems) {
    const Ref each = tuple(text(to_text(problem.severity)), text(to_text(problem.code)),
                           problem.group < 0 ? none() : number(problem.group),
                           problem.layer.empty() ? none() : text(problem.layer),
                           problem.rule.empty() ? none() : text(problem.rule),
                           text(problem.message), facts_of(problem));
    check(PyList_Append(list.get(), each.get()));
  }
  return list;
}

}  // namespace kvedit::python
