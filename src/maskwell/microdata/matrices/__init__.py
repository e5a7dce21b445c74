"""Transition matrices of a release: how they are chosen and made exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwell.microdata.matrices.bounds import Bounds as Bounds
    from maskwell.microdata.matrices.closed_forms import method1 as method1
    from maskwell.microdata.matrices.closed_forms import method2 as method2
    from maskwell.microdata.matrices.closed_forms import sequential_uniform as sequential_uniform
    from maskwell.microdata.matrices.match_caps import lower_until as lower_until
    from maskwell.microdata.matrices.matrix_checks import check_publishable as check_publishable
    from maskwell.microdata.matrices.matrix_checks import expected_changed as expected_changed
    from maskwell.microdata.matrices.matrix_checks import is_invariant as is_invariant
    from maskwell.microdata.matrices.mixing import rates_for_match as rates_for_match
    from maskwell.microdata.matrices.optimal_flows import optimal_matrix as optimal_matrix
else:
    import lazy_loader

    __getattr__, __dir__, __all__ = lazy_loader.attach(
        __name__,
        submod_attrs={
            "bounds": ["Bounds"],
            "closed_forms": ["method1", "method2", "sequential_uniform"],
            "match_caps": ["lower_until"],
            "matrix_checks": ["check_publishable", "expected_changed", "is_invariant"],
            "mixing": ["rates_for_match"],
            "optimal_flows": ["optimal_matrix"],
        },
    )
