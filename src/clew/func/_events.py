"""`checkpoints` events of workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.checkpoint._views import config_of, metadata_of

if TYPE_CHECKING:
    from clew.func._entrypoint import Workflow
    from clew.pregel._flow import Flow


def tell_checkpoint(workflow: Workflow, flow: Flow, outcome: Any, error: BaseException | None) -> None:
    """Tell of the checkpoint that an attempt ended with."""
    root, start = flow.root, flow.start
    if root.sink is None or start is None:
        return
    body = start.body
    done = error is None

    def payload() -> dict[str, Any]:
        return {
            "config": config_of(root.thread_id or "", start.place.ns, root.done if done else root.at),
            "metadata": metadata_of(body, root.codec),
            "values": outcome if done else None,
            "next": [] if done else [workflow.name],
            "parent_config": config_of(root.thread_id or "", start.place.ns, root.at) if done else None,
            "tasks": [],
        }

    root.sink.checkpoint(payload, flow.frame.namespace, body.step)
