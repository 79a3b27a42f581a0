"""What the audit found, on an episode's page and over many episodes."""
