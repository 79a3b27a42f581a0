"""Rollouts over HTTP, for trainers and other programs: `python -m core.service`.

app             the FastAPI application and its document
guard           who may call: keys, hosts, origins, sizes
state           what the routes share
rollouts        play a rollout and answer it; abort; status
environments    live environments: create, step, snapshot, branch
live            one of them, and what tool calls mean to it
policies        live policies
information     health, and what a trainer asks before it starts
proxy           chat completions of a model, with hints
mount           OpenEnv's routes beside these
routes          all of them, behind the guard
server          the process that listens, and how it ends
handles         what lives in memory, by id
"""
