"""Graphs of nodes over one shared state, run by the same runtime as functional workflows."""

from clew.graph._plan import END, START
from clew.graph._state import IsLastStep, RemainingSteps
from clew.graph.message import REMOVE_ALL_MESSAGES, MessagesState, add_messages
from clew.graph.state import StateGraph

__all__ = [
    "END",
    "REMOVE_ALL_MESSAGES",
    "START",
    "IsLastStep",
    "MessagesState",
    "RemainingSteps",
    "StateGraph",
    "add_messages",
]
