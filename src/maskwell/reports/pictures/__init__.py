"""The pictures, one idea a file; :mod:`maskwell.plots` names them all."""
