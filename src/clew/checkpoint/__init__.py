"""Where runs are kept: the savers' interface (`base`), the journal below it, and the savers."""
