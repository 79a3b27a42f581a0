"""The Lab's views: other rewards over what was stored, and what the stored rewards are like."""
