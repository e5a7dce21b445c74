"""Private names that tests need, one file a room: the only place where tests say in which file a name stands.

A file of the package that moves breaks one import here and no test. What a room offers at its face is imported from
there; ``tests/unit/test_house.py`` checks both, and that a test needs every name.
"""
