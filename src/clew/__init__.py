"""Chat models, memory and durable workflows, as plain functions that survive."""

__version__ = "0.1.0"
__all__ = ["__version__"]
