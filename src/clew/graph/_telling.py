"""What the `checkpoints` stream says of a graph's checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.checkpoint._views import config_of, metadata_of

if TYPE_CHECKING:
    from clew.checkpoint._journal import Row
    from clew.graph._steps import Steps


def checkpoint_event(steps: Steps, row: Row) -> dict[str, Any]:
    """Return the documented event."""
    start, root = steps.start, steps.root
    assert start is not None
    place = start.place
    return {
        "config": config_of(place.thread_id, place.ns, row.id),
        "metadata": metadata_of(start.body, root.codec),
        "values": steps.graph.visible(steps.values, {}),
        "next": list(steps.next_names()),
        "parent_config": config_of(place.thread_id, place.ns, row.parent) if row.parent else None,
        "tasks": [{"name": call.node} for call in steps.position.next],
    }
