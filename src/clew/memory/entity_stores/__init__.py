"""Where the notes of an entity memory are kept."""
