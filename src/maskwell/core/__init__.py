"""Value types that every room shares; numpy only."""
