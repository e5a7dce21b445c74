"""What a design promises: demands and audits."""
