"""A trainer's request for a rollout: its fields and limits, and how it is read.

The names on the wire are those of synth-ai's task apps (`synth_ai.task.contracts`), whose clients send them.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal, cast

import msgspec
from msgspec import Meta

from core.errors import InvalidInput
from core.text import cut, plural, visible

MAX_BYTES: Final = 2_000_000
"""Of a request as JSON."""

_MAX_DEPTH: Final = 100
_MAX_NAMED: Final = 10  # unknown fields that a warning names
# The name of a field that may hold a secret. Those that we know, such as `max_tokens`, are not asked.
_SECRET: Final = re.compile(
    r"(key|(?<!max_)(?<!new_)(?<!eos_)(?<!bos_)(?<!pad_)(?<!stop_)token|secret|password|passwd|auth|authorization|bearer|"
    r"credential|cookie|header)s?$",
    re.I,
)
_SECRET_TEXT: Final = re.compile(r"\bbearer\s+\S|\bsk-\S|\bauthorization\s*:", re.I)

Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Name = Annotated[str, Meta(max_length=200)]


class EnvParams(msgspec.Struct, frozen=True):
    """max_steps_per_episode: counts decisions, whatever its name says."""

    max_steps_per_episode: Count | None = None


class EnvOptions(msgspec.Struct, frozen=True):
    """step_rewards: a reward configuration; see `core.rewards.document`."""

    env_params: EnvParams = EnvParams()
    step_rewards: dict[str, Any] | None = None
    difficulty: Name | None = None


class RequestedEnv(msgspec.Struct, frozen=True):
    """env_id: a live environment of the service, in whose world the rollout begins."""

    env_id: Name | None = None
    env_name: Name | None = None
    seed: Seed | None = None
    config: EnvOptions = EnvOptions()


class PolicyOptions(msgspec.Struct, frozen=True):
    """max_tokens: of one answer; max_completion_tokens is its other name. history: decisions that a prompt shows."""

    model: Name | None = None
    inference_url: Annotated[str, Meta(max_length=500)] | None = None
    max_llm_calls: Count | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    system_prompt: Annotated[str, Meta(max_length=100_000)] | None = None
    use_vision: bool = False
    history: Annotated[int, Meta(ge=0, le=16)] = 8
    trace_correlation_id: Name | None = None
    trace: Name | None = None
    step_rewards: dict[str, Any] | None = None


class RequestedPolicy(msgspec.Struct, frozen=True):
    """policy_id: a live policy of the service, whose name and configuration are used."""

    policy_id: Name | None = None
    policy_name: Name | None = None
    config: PolicyOptions = PolicyOptions()


class RecordOptions(msgspec.Struct, frozen=True):
    """What the answer contains. partial: answer with what was played when the policy or the environment fails."""

    trajectories: bool = True
    logprobs: bool = False
    value: bool = False
    return_trace: bool = False
    partial: bool = False
    trace_format: Literal["compact", "full", "structured"] = "compact"


class BranchOptions(msgspec.Struct, frozen=True):
    """Refused unless all are off: episodes cannot be forked."""

    branch_every_n_steps: int | None = None
    branch_on_condition: Any = None
    max_branches: int | None = None
    branch_policy: Any = None
    branch_env: Any = None


class SafetyOptions(msgspec.Struct, frozen=True):
    """max_time_s: seconds for the whole rollout, waiting for a model included."""

    max_ops: Count = 100_000
    max_time_s: Annotated[float, Meta(ge=0.001, le=1_000_000_000)] = 3_600.0


class RolloutRequest(msgspec.Struct, frozen=True):
    """One rollout: a world, a policy, how long to play, and what to answer.

    ops: checked by `core.plan.parse_ops`. mode: `rl` needs a correlation id and puts it into the inference URL; `eval`
    uses the URL as it is. on_done: missing means `terminate`. synth_base_url: the trainer's own URL, stored only.
    """

    run_id: Annotated[str, Meta(min_length=1, max_length=200)]
    env: RequestedEnv = RequestedEnv()
    policy: RequestedPolicy = RequestedPolicy()
    ops: list[Any] | None = None
    record: RecordOptions = RecordOptions()
    on_done: Literal["reset", "terminate"] | None = None
    branch: BranchOptions | None = None
    safety: SafetyOptions = SafetyOptions()
    training_session_id: Name | None = None
    synth_base_url: Annotated[str, Meta(max_length=500)] | None = None
    mode: Literal["rl", "eval"] = "eval"


class ReadRequest(msgspec.Struct, frozen=True):
    """A request that was read. given: as it was sent, without fields that may hold a secret. warnings: sentences."""

    request: RolloutRequest
    given: dict[str, Any]
    warnings: tuple[str, ...]


def read_request(body: bytes) -> ReadRequest:
    """The request in a JSON text.

    Fields that are not known are kept in `given` and named in a warning: clients send more than is needed. Those whose
    names may hold a secret are left out of it.

    Raises InvalidInput, which begins with the path of what is wrong, such as `policy.config.max_tokens: ...`.
    """
    return request_from(checked_json(body))


def checked_json(body: bytes) -> Any:
    """A JSON text as data. Raises InvalidInput for another text, one that is too long or nested too deep, and NaN."""
    if len(body) > MAX_BYTES:
        raise InvalidInput(f"The request has {len(body):,} bytes; at most {MAX_BYTES:,} are read.")
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"The request is not JSON: {error}.") from error
    if _is_deep(given):
        raise InvalidInput(f"The request is nested more than {_MAX_DEPTH} levels deep.")
    return given


def request_from(given: object) -> ReadRequest:
    """The request in decoded JSON; see `read_request`. Raises InvalidInput."""
    try:
        request = msgspec.convert(given, RolloutRequest)
    except msgspec.ValidationError as error:
        raise InvalidInput(_with_path_first(str(error))) from error
    fields = cast(dict[str, Any], given)
    kept, unknown, secret = _sorted_out(fields, RolloutRequest, "")
    warnings: list[str] = []
    if unknown:
        warnings.append(f"{_named(unknown, 'unknown field')}: stored with the run, without effect.")
    if secret:
        warnings.append(f"{_named(secret, 'field')} may hold a secret: neither used nor stored.")
    return ReadRequest(request, kept, tuple(warnings))


def _is_deep(value: object) -> bool:
    """Whether lists and objects are nested more than `_MAX_DEPTH` levels deep."""
    level = [value]
    for _ in range(_MAX_DEPTH + 1):
        children: list[object] = []
        for each in level:
            if isinstance(each, dict):
                children += cast(dict[str, object], each).values()
            elif isinstance(each, list):
                children += cast(list[object], each)
        if not children:
            return False
        level = children
    return True


def _with_path_first(message: str) -> str:
    """msgspec writes ``Expected `int`, got `str` - at `$.policy.config.max_tokens` ``."""
    problem, _, path = message.partition(" - at ")
    where = path.strip("`").removeprefix("$").removeprefix(".") or "request"
    return f"{where}: {problem[:1].lower()}{problem[1:]}."


def _sorted_out(given: dict[str, Any], kind: Any, path: str) -> tuple[dict[str, Any], list[str], list[str]]:
    """(the fields without secrets, paths of unknown fields, paths of fields that may hold a secret)."""
    known: dict[str, Any] = {field.encode_name: field.type for field in msgspec.structs.fields(kind)} if kind else {}
    kept: dict[str, Any] = {}
    unknown: list[str] = []
    secret: list[str] = []
    for name, value in given.items():
        where = f"{path}{name}"
        is_text = isinstance(value, str) and name != "system_prompt"
        if name not in known and (_SECRET.search(name) or (is_text and _SECRET_TEXT.search(value))):
            secret.append(where)
            continue
        if kind and name not in known:
            unknown.append(where)
        kept[name], more, hidden = _inner(value, _struct_of(known.get(name)), f"{where}.")
        unknown += more
        secret += hidden
    return kept, unknown, secret


def _inner(value: Any, kind: Any, path: str) -> tuple[Any, list[str], list[str]]:
    if isinstance(value, dict):
        return _sorted_out(cast(dict[str, Any], value), kind, path)
    if not isinstance(value, list):
        return value, [], []
    parts = [_inner(item, None, f"{path}{at}.") for at, item in enumerate(cast(list[Any], value))]
    return [part[0] for part in parts], [], [where for part in parts for where in part[2]]


def _struct_of(kind: Any) -> Any:
    """The struct in a field's type, such as in `BranchOptions | None`."""
    kinds = getattr(kind, "__args__", (kind,))
    return next((each for each in kinds if isinstance(each, type) and issubclass(each, msgspec.Struct)), None)


def _named(paths: list[str], noun: str) -> str:
    shown = ", ".join(cut(visible(path), 100) for path in paths[:_MAX_NAMED])
    more = f" and {len(paths) - _MAX_NAMED:,} more" if len(paths) > _MAX_NAMED else ""
    return f"{plural(len(paths), noun)} ({shown}{more})"
