"""Language models for tests: written answers, a scripted server, a real small model."""
