"""Driving the dashboard with a real browser."""
