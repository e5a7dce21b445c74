"""The pictures, one idea a file; :func:`maskwell.plot` draws the one that suits a value."""
