"""What runnables are made of, drawn."""

from __future__ import annotations

import pytest

from clew.prompts import ChatPromptTemplate, PromptTemplate
from clew.runnables import RunnableBranch, RunnableLambda, RunnableParallel, RunnablePassthrough
from clew.runnables.graph import Graph


def named(name: str) -> RunnableLambda:
    return RunnableLambda(lambda x: x, name=name)


def edges(graph: Graph) -> set[tuple[str, str]]:
    return {(graph.nodes[edge.source].name, graph.nodes[edge.target].name) for edge in graph.edges}


def test_a_sequence_with_a_parallel():
    graph = (named("a") | RunnableParallel(x=named("b"), y=named("c")) | named("d")).get_graph()
    inside = {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}
    assert edges(graph) == {("RunnableSequenceInput", "a"), *inside, ("d", "RunnableSequenceOutput")}
    assert graph.first_node() is not None and graph.last_node() is not None


def test_branches_are_conditional_and_assigns_pass_the_input_on():
    graph = RunnableBranch((lambda x: True, named("yes")), named("no")).get_graph()
    assert {graph.nodes[e.target].name for e in graph.edges if e.conditional} == {"yes", "no"}
    graph = RunnablePassthrough.assign(k=named("k")).get_graph()
    assert {"k", "Passthrough"} <= {node.name for node in graph.nodes.values()}


def test_mermaid():
    text = (named("a") | named("b<c>")).get_graph().draw_mermaid()
    assert text.startswith("---\n") and "graph TD;" in text and "b&lt;c&gt;" in text and "b<c>" not in text
    plain = (named("a") | named("b")).get_graph().draw_mermaid(with_styles=False, direction="LR")
    assert plain.splitlines()[0] == "graph LR;" and plain.count("-->") == 3


def test_text_and_data():
    graph = (named("a") | named("b")).get_graph()
    assert "a" in graph.draw_ascii() and "->  b" in graph.draw_ascii()
    data = graph.to_json()
    assert (
        len(data["nodes"]) == 4
        and len(data["edges"]) == 3
        and {n["type"] for n in data["nodes"]} <= {"schema", "runnable", "unknown"}
    )


def test_building_by_hand():
    graph = Graph()
    a, b = graph.add_node(named("a"), "a"), graph.add_node(named("b"), "b")
    graph.add_edge(a, b, "label", conditional=True)
    assert "-. &nbsp;label&nbsp; .->" in graph.draw_mermaid()
    with pytest.raises(ValueError, match="'a'"):
        graph.add_node(named("a"), "a")
    other = Graph()
    other.add_node(named("c"), "c")
    first, last = graph.extend(other, prefix="sub")
    assert first == last == graph.nodes["sub:c"]
    graph.remove_node(graph.nodes["sub:c"])
    graph.trim_last_node()
    assert list(graph.nodes) == ["a"] and graph.edges == []
    with pytest.raises(ValueError, match="not in the graph"):
        graph.add_edge(a, b)


def test_prompts_among_the_parts():
    prompt = ChatPromptTemplate.from_template("{q}")
    text = PromptTemplate.from_template("{q}")
    assert (RunnableParallel(a=prompt, b=text) | named("x")).get_prompts() == [prompt, text]
