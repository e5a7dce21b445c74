"""What several tests share; import as ``tests.support``."""
