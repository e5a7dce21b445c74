"""Named randomized-response devices: one file each, listed in :mod:`maskwell.procedures.registry`."""
