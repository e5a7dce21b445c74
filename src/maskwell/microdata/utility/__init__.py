"""What a released file is still good for."""
