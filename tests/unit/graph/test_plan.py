"""Which nodes run next, by edges, joins, Sends and deferred nodes."""

from clew.graph import END, START
from clew.graph._plan import Call, Plan, Position
from clew.types import Send


def plan(edges=(), joins=(), order="abcd", deferred=()):
    ways = {}
    for start, end in edges:
        ways.setdefault(start, []).append(end)
    return Plan(
        {name: n for n, name in enumerate(order)}, ways,
        {f"j{n}": (tuple(sources), target) for n, (sources, target) in enumerate(joins)}, frozenset(deferred),
    )  # fmt: skip


def names(position):
    return [call.node for call in position.next]


def test_calls_come_in_the_order_in_which_nodes_were_added():
    assert names(plan([(START, "c"), (START, "a")]).advance(Position(), [(START, [])])) == ["a", "c"]


def test_a_node_that_two_lead_to_runs_once():
    found = plan([("a", "c"), ("b", "c")]).advance(Position(), [("a", []), ("b", [])])
    assert names(found) == ["c"]


def test_end_is_no_call():
    assert plan([("a", END)]).advance(Position(), [("a", [])]).next == ()


def test_sends_keep_their_arguments_and_their_number():
    found = plan().advance(Position(), [("a", [Send("b", 1), Send("b", 2)])])
    assert found.next == (Call("b", 1, True), Call("b", 2, True))


def test_a_join_waits_for_all_over_several_steps_and_starts_again():
    p = plan(joins=[("ab", "c")])
    first = p.advance(Position(), [("a", [])])
    assert names(first) == [] and first.joins == {"j0": ("a",)}
    second = p.advance(first, [("b", [])])
    assert names(second) == ["c"] and second.joins == {}
    assert names(p.advance(second, [("a", [])])) == []


def test_a_deferred_node_runs_when_nothing_else_is_left():
    p = plan([("a", "d"), ("a", "b"), ("b", "c")], deferred="d")
    first = p.advance(Position(), [("a", [])])
    second = p.advance(first, [("b", [])])
    third = p.advance(second, [("c", [])])
    assert [names(one) for one in (first, second, third)] == [["b"], ["c"], ["d"]]
