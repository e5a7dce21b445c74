"""What somebody can learn from a released file."""
