"""What kvedit's connectors for vLLM (0.25 to 0.33) have in common."""

from __future__ import annotations

import logging
from typing import Any

from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1, SupportsHMA

try:
    from vllm.logger import init_logger

    logger: logging.Logger = init_logger("vllm.kvedit")  # vLLM shows its own loggers only
except ImportError:
    logger = logging.getLogger(__name__)


class BlockConnector(KVConnectorBase_V1, SupportsHMA):
    """Whole blocks are moved between steps: nothing is done layer by layer."""

    def wait_for_layer_load(self, layer_name: str) -> None:
        return None

    def save_kv_layer(
        self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any
    ) -> None:
        return None

    def request_finished(
        self, request: Any, block_ids: list[int]
    ) -> tuple[bool, dict[str, Any] | None]:
        return self.request_finished_all_groups(request, (block_ids,))

    def request_finished_all_groups(
        self, request: Any, block_ids: tuple[list[int], ...]
    ) -> tuple[bool, dict[str, Any] | None]:
        return False, None
