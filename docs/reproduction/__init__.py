"""What two sources print, computed anew: the page docs/theory/reproduction.md and the tests both come from here.

=====================  ==========================================================================
:mod:`.printed`        the printed tables, as data
:mod:`.entries`        a printed number, a statement or an erratum beside what maskwell computes
:mod:`.tables`         both tables of [NayakZhai2019], cell by cell
:mod:`.nayak_zhai`     the numbers and statements in its text
:mod:`.chai_nayak`     those of [ChaiNayak2018]
:mod:`.figures`        what its text says about its four figures
:mod:`.errata`         where the sources are to be read differently, each with a computed check
:mod:`.page`           the page; ``python -m docs.reproduction`` writes it
=====================  ==========================================================================
"""
