"""What a released file can still tell."""
