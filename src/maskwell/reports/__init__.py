"""Results for people: text, pictures and pages."""
