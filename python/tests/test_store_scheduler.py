"""The scheduler's half of the reference connector, without an engine."""

import os
from types import SimpleNamespace

import numpy as np
import pytest

from kvedit.integrations._store.files import BlockFiles
from kvedit.integrations._store.options import Options
from kvedit.integrations._store.plan import Move, Plan
from kvedit.integrations._store.scheduler import Roles, Scheduler
from store_parts import (
    FULL, LOG, RECURRENT, UNIT, WIDE, WINDOW, Request, hashes, key, layout, longest, matched, put,
    scheduler, step,
)  # fmt: skip


@pytest.fixture
def files(tmp_path):
    return BlockFiles(str(tmp_path))


def test_one_token_is_left_to_compute(files, tmp_path):
    for tokens in (16, 32, 48, 64):
        put(files, layout(FULL), 0, tokens)
    half = scheduler(tmp_path, FULL)
    assert matched(half, Request(64)) == 48
    assert matched(half, Request(65, "other")) == 64
    assert matched(half, Request(65, "third"), computed=32) == 32
    skipping = Request(65, "skips")
    skipping.skip_reading_prefix_cache = True
    assert matched(half, skipping) == 0


def test_loads_are_every_block_that_the_engine_has_made_room_for(files, tmp_path):
    shard = layout(FULL, WINDOW, RECURRENT)
    for tokens in range(16, 97, 16):
        put(files, shard, 0, tokens)
        put(files, shard, 1, tokens)
    put(files, shard, 2, 96)
    half = scheduler(tmp_path, FULL, WINDOW, RECURRENT)
    request = Request(100)
    assert matched(half, request, computed=32) == 64
    tables = [[1, 2, 3, 4, 5, 6, 99], [0, 0, 0, 0, 7, 8], [0, 0, 9]]
    half.admitted(request, tables, 64)
    plan = half.plan(step({}, {}))
    assert plan.loads == {"r": [
        Move(key(0, 48), 3), Move(key(0, 64), 4), Move(key(0, 80), 5), Move(key(0, 96), 6),
        Move(key(1, 80), 7), Move(key(1, 96), 8), Move(key(2, 96), 9),
    ]}  # fmt: skip
    half.admitted(request, tables, 0)  # when the load is through
    assert half.plan(step({}, {})) == Plan()


def test_another_connector_was_chosen(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    assert matched(half, Request(20)) == 16
    half.admitted(Request(20), [[1, 2]], 0)
    assert half.plan(step({}, {})).loads == {}


def test_full_blocks_are_saved_once(tmp_path):
    half = scheduler(tmp_path, FULL, RECURRENT)
    request = Request(80, computed=16)
    half.admitted(request, [[1, 2, 3], [0]], 0)
    tables = {"r": [[1, 2, 3, 4, 5], [0, 7, 8]]}
    plan = half.plan(step({"r": 30}, tables))
    assert plan.saves == [Move(key(0, 32), 2)]  # block 1 was there; 3 is not full
    request.num_computed_tokens = 46
    tables["r"][0][2] = 30  # the table as it is now counts
    assert half.plan(step({"r": 34}, tables)).saves == [
        Move(key(0, 48), 30), Move(key(0, 64), 4), Move(key(0, 80), 5)
    ]  # fmt: skip
    request.num_computed_tokens = 80
    assert half.plan(step({"r": 16}, tables)).saves == []  # tokens that are not confirmed
    request.num_tokens, request.block_hashes = 96, hashes(6)
    tables["r"][0].append(0)
    assert half.plan(step({"r": 1}, tables)).saves == []  # null block
    assert half.plan(step({}, {})).saves == []


def test_states_are_saved_where_the_engine_says(tmp_path):
    half = scheduler(tmp_path, FULL, RECURRENT)
    half.admitted(Request(80, computed=0), [[], []], 0)
    offers = {"r": [(1, 9, 64), (1, 0, 32), (0, 5, 1000)], "unknown": [(1, 3, 32)]}
    plan = half.plan(step({}, {"r": [[1, 2, 3, 4], [0, 9]]}, offers))
    assert plan.saves == [Move(key(1, 64), 9)]


def test_a_boundary_inside_a_block_takes_that_block_along(files, tmp_path):
    half = scheduler(tmp_path, WIDE, RECURRENT, alignment=16)
    request = Request(120)
    half.admitted(request, [[], []], 0)
    plan = half.plan(step({}, {"r": [[1, 2], [0, 0, 9]]}, {"r": [(1, 9, 80)]}))
    assert plan.saves == [Move(key(1, 80), 9), Move(key(0, 80), 2)]
    shard = layout(WIDE, RECURRENT)
    for group, tokens in ((0, 64), (0, 80), (1, 80)):
        put(files, shard, group, tokens)
    other = Request(100, "other")
    assert matched(half, other) == 80
    half.admitted(other, [[5, 6], [0, 0, 7]], 80)
    assert half.plan(step({}, {})).loads == {"other": [
        Move(key(0, 64), 5), Move(key(0, 80), 6), Move(key(1, 80), 7)]}  # fmt: skip


def test_blocks_of_a_finished_request_are_held_until_they_are_saved(tmp_path):
    half = scheduler(tmp_path, WIDE, RECURRENT, alignment=16)
    request = Request(80)
    half.admitted(request, [[], []], 0)
    assert half.finished_at_boundary(request, ([1, 2], [0, 0, 9]), [(1, 9, 80)])
    half.finished(request, ())
    plan = half.plan(step({}, {}))
    assert plan.held == {"r"} and plan.saves == [Move(key(1, 80), 9), Move(key(0, 80), 2)]
    assert half.plan(step({}, {})).held == set()
    assert not half.finished_at_boundary(request, ([], [0]), [(1, 0, 80)])


def test_what_failed_is_not_looked_up_again(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    first, second = Request(20), Request(20, "second")
    for number, request in enumerate((first, second)):
        assert matched(half, request) == 16
        half.admitted(request, [[number + 1, 9]], 16)
    half.loads_ended(set(), {2})
    assert matched(half, second) == 0 and matched(half, first) == 16
    half.loads_ended({"r"}, set())
    assert matched(half, first) == 0
    half.finished(first, ())
    assert matched(half, first) == 16  # the name again, another request


def test_roles(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    producer = scheduler(tmp_path, FULL, roles=Roles(loads=False, saves=True))
    consumer = scheduler(tmp_path, FULL, roles=Roles(loads=True, saves=False))
    assert matched(producer, Request(20)) == 0 and matched(consumer, Request(20)) == 16
    for half, saves in ((producer, 1), (consumer, 0)):
        half.admitted(Request(20), [[1, 2]], 0)
        assert len(half.plan(step({"r": 20}, {"r": [[1, 2]]})).saves) == saves


@pytest.mark.parametrize("shards", [[], [None], [layout(FULL)], [layout(FULL), None]])
def test_a_worker_that_cannot_serve_is_enough_to_store_nothing(files, tmp_path, shards, caplog):
    put(files, layout(FULL), 0, 16)
    half = Scheduler(Options(folder=str(tmp_path)), UNIT, Roles(True, True), LOG)
    half.set_shards(shards, 2, None)
    assert "of 2 workers" in caplog.text
    half.admitted(Request(20), [[1, 2]], 0)
    assert matched(half, Request(20)) == 0
    assert half.plan(step({"r": 20}, {"r": [[1, 2]]})).saves == []


def test_hashes_wider_than_a_block_are_refused(tmp_path, caplog):
    half = scheduler(tmp_path, FULL, unit=32)
    assert "nothing will be stored" in caplog.text and matched(half, Request(20)) == 0


def test_engines_that_cannot_be_told_of_failures_get_nothing_loaded(files, tmp_path, caplog):
    roles = Roles(loads=True, saves=True, fails_requests=False)
    for group, tokens in ((RECURRENT, 0), (FULL, 16)):
        put(files, layout(group), 0, 32)
        put(files, layout(group), 0, 16)
        assert matched(scheduler(tmp_path, group, alignment=16, roles=roles), Request(20)) == tokens
    assert caplog.text.count("nothing is loaded") == 1


def test_engines_that_show_tables_only_at_the_end(files, tmp_path):
    """Before vLLM 0.30; where every block is kept they are still right then."""
    for groups, saves in ((FULL,), 2), ((FULL, RECURRENT), 0):
        half = scheduler(tmp_path, *groups)
        request = Request(40)
        half.admitted(request, [[1, 2, 3]] * len(groups), 0)
        old_step = SimpleNamespace(num_scheduled_tokens={"r": 40})
        assert half.plan(old_step).saves == []
        request.num_computed_tokens = 40
        assert half.finished(request, ([1, 2, 3],) * len(groups)) == bool(saves)
        plan = half.plan(old_step)
        assert plan.saves == [Move(key(0, 16), 1), Move(key(0, 32), 2)][:saves]
        assert plan.held == ({"r"} if saves else set())
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    half.plan(old_step)
    waits = Request(40)
    assert matched(half, waits) == 16
    half.admitted(waits, [[1]], 16)
    waits.num_computed_tokens = 16
    assert not half.finished(waits, ([1],))  # ended before its blocks had come


def test_what_is_stored_can_be_forgotten(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    put(files, layout(FULL, folder="other/tp0-pcp0"), 0, 16)
    half = scheduler(tmp_path, FULL)
    assert half.forget() and matched(half, Request(20)) == 0
    assert longest(files, [layout(FULL, folder="other/tp0-pcp0")]) == 16
    assert sorted(os.listdir(tmp_path)) == ["other"]


def test_who_only_reads_forgets_and_removes_nothing(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL, roles=Roles(loads=True, saves=False))
    assert matched(half, Request(20)) == 16
    assert half.forget() and matched(half, Request(20, "after")) == 0
    half.close()
    assert longest(files, [layout(FULL)]) == 16


def test_who_serves_nothing_has_nothing_to_forget(tmp_path):
    """An engine that asks for it, to sleep for one, ends with an error where the answer is no."""
    half = Scheduler(Options(folder=str(tmp_path)), UNIT, Roles(True, True), LOG)
    assert half.forget()
    half.set_shards([None], 1, None)
    assert half.forget() and half.plan(step({}, {})).saves == []


def eras(plan):
    return {move.key.era for move in plan.saves}


def test_what_is_stored_later_is_of_an_era_of_its_own(files, tmp_path):
    half = scheduler(tmp_path, FULL)
    seen = []
    for number in range(3):
        request = Request(40, f"request {number}")
        half.admitted(request, [[1, 2, 3]], 0)
        plan = half.plan(step({request.request_id: 40}, {request.request_id: [[1, 2, 3]]}))
        assert eras(plan) == {plan.era} and len(plan.saves) == 2
        for move in plan.saves:  # as a worker would, and another engine that knows of nothing
            files.write(layout(FULL).name(move.key), np.zeros(64, np.uint8))
        assert matched(half, Request(40, f"again {number}")) == 32
        assert matched(scheduler(tmp_path, FULL), Request(40)) == (0 if seen else 32)
        seen.append(plan.era)
        assert half.forget() and matched(half, Request(40, f"after {number}")) == 0
        assert os.listdir(tmp_path) == []
    assert seen[0] == "" and len(set(seen)) == 3
    put(files, layout(FULL), 0, 16)  # too late, by whomever: what was computed before
    assert matched(half, Request(20, "late")) == 0


def test_loads_are_of_the_era_that_was_looked_up(files, tmp_path):
    half = scheduler(tmp_path, FULL)
    half.forget()
    era = half.plan(step({}, {})).era
    files.write(layout(FULL).name(key(0, 16)._replace(era=era)), np.zeros(64, np.uint8))
    assert matched(half, Request(20)) == 16
    half.admitted(Request(20), [[1, 2]], 16)
    assert half.plan(step({}, {})).loads == {"r": [Move(key(0, 16)._replace(era=era), 1)]}


def test_a_lookup_that_is_under_way_is_forgotten_too(files, tmp_path, monkeypatch):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    assert matched(half, Request(20)) == 16  # and the engine has no room for it yet
    half.forget()
    put(files, layout(FULL), 0, 16)
    assert matched(half, Request(20)) == 0


def test_what_rests_on_forgotten_blocks_is_not_stored(tmp_path):
    half = scheduler(tmp_path, FULL, RECURRENT)
    running, preempted = Request(80, "running"), Request(80, "preempted")
    for request in (running, preempted):
        half.admitted(request, [[1, 2, 3, 4, 5], [0, 7]], 0)
    tables = {name: [[1, 2, 3, 4, 5], [0, 7]] for name in ("running", "preempted")}
    half.plan(step({"running": 40, "preempted": 40}, tables))
    running.num_computed_tokens, preempted.num_computed_tokens = 40, 0
    half.forget()
    half.admitted(running, [[1, 2, 3, 4, 5], [0, 7]], 0)  # a load that is through
    assert matched(half, preempted) == 0
    half.admitted(preempted, [[1, 2, 3, 4, 5], [0, 7]], 0)
    offers = {name: [(1, 7, 64)] for name in tables}
    plan = half.plan(step({"running": 40, "preempted": 80}, tables, offers))
    assert [move.key.hash for move in plan.saves if move.key.group == 0] == hashes(5)
    assert [move.key for move in plan.saves if move.key.group == 1] == [
        key(1, 64)._replace(era=plan.era)
    ]
    assert not half.finished_at_boundary(running, tables["running"], offers["running"])
    assert half.finished_at_boundary(preempted, tables["preempted"], offers["preempted"])
    running.num_computed_tokens = 0  # preempted in its turn
    assert matched(half, running) == 0
    assert len(half.plan(step({"running": 80}, tables)).saves) > 0


def test_saves_that_wait_for_the_next_step_are_forgotten_but_what_is_held_is_let_go(tmp_path):
    half = scheduler(tmp_path, WIDE, RECURRENT, alignment=16)
    request = Request(80)
    half.admitted(request, [[], []], 0)
    assert half.finished_at_boundary(request, ([1, 2], [0, 0, 9]), [(1, 9, 80)])
    half.forget()
    plan = half.plan(step({}, {}))
    assert plan.held == {"r"} and plan.saves == []


def test_an_era_ends_with_its_engine(files, tmp_path):
    put(files, layout(FULL), 0, 16)
    half = scheduler(tmp_path, FULL)
    half.close()
    assert longest(files, [layout(FULL)]) == 16
    half.forget()
    era = half.plan(step({}, {})).era
    put(files, layout(FULL), 0, 16)
    name = layout(FULL).name(key(0, 16)._replace(era=era))
    files.write(name, np.zeros(64, np.uint8))
    half.close()
    assert os.listdir(tmp_path) == ["model"] and longest(files, [layout(FULL)]) == 16
