"""What an intruder can learn from a released file."""
