# What this project uses of the untyped `crafter` package.
from .env import Env as Env
