"""Small public helpers: JSON that may be cut off, schemas of tools."""
