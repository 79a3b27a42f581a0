"""Crafter as other libraries expect an environment. Each module needs the library that it is named after.

openenv         OpenEnv's server, its actions and observations
trl             a tool environment for TRL's GRPOTrainer; needs nothing but this package
"""
