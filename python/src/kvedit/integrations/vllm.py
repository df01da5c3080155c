"""KV connectors for vLLM (0.25 to 0.33).

    vllm serve MODEL --kv-transfer-config '{"kv_connector": "CaptureConnector",
        "kv_connector_module_path": "kvedit.integrations.vllm", "kv_role": "kv_both",
        "kv_connector_extra_config": {"kvedit.path": "/tmp/kvedit"}}'

`CaptureConnector` writes down what the engine registers; `StoreConnector` keeps its blocks in a folder.
"""

from __future__ import annotations

from typing import Any

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorMetadata

from ._block_connector import BlockConnector, logger
from ._capture import Options, capture_and_tell
from ._store.connector import StoreConnector

__all__ = ["CaptureConnector", "StoreConnector"]


class CaptureConnector(BlockConnector):
    """Writes the registration as JSON, and kvedit's report beside it, when the caches are registered.

    Moves nothing: alone or as a child of ``MultiConnector`` it leaves the engine as it is. No tensor
    memory is read. ``kv_connector_extra_config`` may have ``kvedit.path``, a folder, and
    ``kvedit.profile``. With several workers the files carry their ranks.
    """

    def __init__(self, vllm_config: Any, role: Any, kv_cache_config: Any = None) -> None:
        super().__init__(vllm_config=vllm_config, role=role, kv_cache_config=kv_cache_config)
        self._captured_config = kv_cache_config
        self._captured_vllm_config = vllm_config
        extra = vllm_config.kv_transfer_config.kv_connector_extra_config or {}
        self._options = Options.of(extra)

    def register_kv_caches(self, kv_caches: dict[str, Any]) -> None:
        capture_and_tell(
            self._captured_config, kv_caches, self._captured_vllm_config, self._options, logger
        )

    # Nothing is loaded and nothing is saved.

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        return None

    def wait_for_save(self) -> None:
        return None

    def get_num_new_matched_tokens(
        self, request: Any, num_computed_tokens: int
    ) -> tuple[int | None, bool]:
        return 0, False

    def update_state_after_alloc(
        self, request: Any, blocks: Any, num_external_tokens: int
    ) -> None:
        return None

    def build_connector_meta(self, scheduler_output: Any) -> Any:
        return KVConnectorMetadata()
