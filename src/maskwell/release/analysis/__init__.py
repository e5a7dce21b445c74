"""Tables and shares from a released file, with its receipt."""
