"""Craftscope's core: the engine, policies, rewards, rollouts and the store. It never imports streamlit."""

__version__ = "0.1.0"
