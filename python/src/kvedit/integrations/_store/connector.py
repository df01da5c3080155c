"""The class that vLLM makes, and nothing else that knows vLLM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm.distributed.kv_transfer.kv_connector.v1 import base
from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorHandshakeMetadata,
    KVConnectorMetadata,
)

from .._block_connector import BlockConnector, logger
from .._folders import check_usable
from .options import Options
from .scheduler import Roles, Scheduler
from .worker import Worker

if TYPE_CHECKING:
    from .keys import ShardLayout
    from .plan import Plan
    from .worker import Results


class StoreMetadata(KVConnectorMetadata):
    """From the scheduler to the workers, every step."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan


class StoreHandshake(KVConnectorHandshakeMetadata):
    """From each worker to the scheduler, once: what it keeps, or None when it serves nothing."""

    def __init__(self, layout: ShardLayout | None) -> None:
        self.layout = layout


class StoreConnector(BlockConnector):
    """Keeps blocks of any model that kvedit serves in a folder, and brings them back: after a
    restart, in another engine, recurrent states too. A reference for how to embed kvedit.

    vLLM makes one object for the scheduler and one for each worker; this class says which half
    answers which of its questions. ``kv_connector_extra_config``: `_store.options.Options`.
    """

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any = None) -> None:
        super().__init__(vllm_config=vllm_config, role=role, kv_cache_config=kv_cache_config)
        self._engine_config, self._cache_config = vllm_config, kv_cache_config
        transfer = vllm_config.kv_transfer_config
        options = Options.of(transfer.kv_connector_extra_config or {})
        check_usable("kvedit.path", options.folder, writes=transfer.is_kv_producer)
        self._worker: Worker | None = None
        self._scheduler: Scheduler | None = None
        self._fails_by_block = False
        self._failed_blocks: set[int] = set()
        if getattr(role, "name", role) == "WORKER":
            self._worker = Worker(options, logger)
            return
        roles = Roles(transfer.is_kv_consumer, transfer.is_kv_producer, _can_fail_requests())
        unit = _hash_unit(vllm_config, kv_cache_config)
        self._scheduler = Scheduler(options, unit, roles, logger)

    @property
    def requires_kv_delivery(self) -> bool:
        return False  # what is not stored is computed again

    # --- the worker's half ---

    def _work(self) -> Worker:
        assert self._worker is not None
        return self._worker

    def _plan(self) -> Plan:
        metadata = self._get_connector_metadata()
        assert isinstance(metadata, StoreMetadata)
        return metadata.plan

    def register_kv_caches(self, kv_caches: dict[str, Any]) -> None:
        worker = self._work()
        worker.register(self._cache_config, kv_caches, self._engine_config)
        self._fails_by_block = worker.layout is not None and worker.layout.keeps_all_blocks

    def get_handshake_metadata(self) -> Any:
        return StoreHandshake(self._work().layout)

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        self._work().start_loads(self._plan())

    def wait_for_save(self) -> None:
        self._work().save(self._plan())

    def get_transfer_results(self, finished_req_ids: set[str]) -> Any:
        found = self._results()
        return base.KVConnectorTransferResults(
            finished_sending=found.saved,
            finished_recving=found.loaded,
            failed_recving=set() if self._fails_by_block else found.failed,
        )

    def get_finished(
        self, finished_req_ids: set[str]
    ) -> tuple[set[str] | None, set[str] | None]:
        found = self._results()  # of engines before 0.30
        return found.saved or None, found.loaded or None

    def _results(self) -> Results:
        found = self._work().results()
        if self._fails_by_block:  # what lies before the first of them is of use
            self._failed_blocks |= found.failed_blocks
        return found

    def get_block_ids_with_load_errors(self) -> set[int]:
        failed, self._failed_blocks = self._failed_blocks, set()
        return failed

    def shutdown(self) -> None:
        for half in (self._worker, self._scheduler):
            if half is not None:
                half.close()

    # --- the scheduler's half ---

    def _schedule(self) -> Scheduler:
        assert self._scheduler is not None
        return self._scheduler

    def set_xfer_handshake_metadata_pp_aware(self, metadata: dict[Any, Any]) -> None:
        self.set_xfer_handshake_metadata(metadata)

    def set_xfer_handshake_metadata(self, metadata: dict[Any, Any]) -> None:
        self._schedule().set_shards(
            [each.layout for each in metadata.values()],
            expected=self._engine_config.parallel_config.world_size,
            alignment=getattr(self._cache_config, "cache_hit_alignment_tokens", None),
        )

    def get_num_new_matched_tokens(
        self, request: Any, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        tokens = self._schedule().matched_tokens(request, num_computed_tokens)
        # Asynchronous: align mode copies recurrent states before a synchronous load would begin.
        return tokens, bool(tokens)

    def update_state_after_alloc(
        self, request: Any, blocks: Any, num_external_tokens: int
    ) -> None:
        self._schedule().admitted(request, blocks.get_block_ids(), num_external_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> Any:
        return StoreMetadata(self._schedule().plan(scheduler_output))

    def update_connector_output(self, connector_output: Any) -> None:
        self._schedule().loads_ended(
            set(getattr(connector_output, "failed_recving", None) or ()),
            set(getattr(connector_output, "invalid_block_ids", None) or ()),
        )

    def reset_cache(self) -> bool | None:
        return self._schedule().forget()

    def register_finished_partial_tail(
        self, request: Any, block_ids: Any, partial_tail_offloads: Any
    ) -> bool:
        return self._schedule().finished_at_boundary(request, block_ids, partial_tail_offloads)

    def request_finished_all_groups(
        self, request: Any, block_ids: tuple[list[int], ...]
    ) -> tuple[bool, dict[str, Any] | None]:
        return self._schedule().finished(request, block_ids), None


def _can_fail_requests() -> bool:
    """Of vLLM 0.30 and later."""
    return hasattr(base, "KVConnectorTransferResults")


def _hash_unit(vllm_config: Any, kv_cache_config: Any) -> int:
    """Tokens of one of a request's hashes."""
    unit = getattr(kv_cache_config, "hash_block_size", None)
    if unit is None:
        from vllm.v1.core.kv_cache_utils import resolve_kv_cache_block_sizes

        unit = resolve_kv_cache_block_sizes(kv_cache_config, vllm_config)[1]
    return int(unit)
