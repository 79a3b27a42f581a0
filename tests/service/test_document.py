"""The OpenAPI document, by which other programs generate requests and read answers."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.service import KEY, RunningService

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def test_every_answer_is_as_the_document_says(service: RunningService):
    # Not by schemathesis's plugin, which does not know this version of pytest.
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    operations: list[Any] = [result.ok() for result in schema.get_all_operations()]  # pyright: ignore[reportAttributeAccessIssue]
    assert len(operations) > 20
    for operation in operations:

        @settings(
            max_examples=10,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        )
        @given(case=operation.as_strategy())
        def check(case: Any) -> None:
            case.call_and_validate(headers={"X-API-Key": KEY}, checks=CHECKS)

        check()


def test_the_document_has_the_types_of_a_rollout(service: RunningService):
    document = service.client.get("/openapi.json").json()
    operation = document["paths"]["/rollout"]["post"]
    content = operation["requestBody"]["content"]["application/json"]
    assert content["schema"] == {"$ref": "#/components/schemas/RolloutRequest"}
    assert {"200", "401", "403", "409", "413", "422", "429", "500", "503"} <= operation["responses"].keys()
    schemas = document["components"]["schemas"]
    assert {"run_id", "env", "policy", "mode"} <= schemas["RolloutRequest"]["properties"].keys()
    assert "trajectories" in schemas["RolloutResponse"]["properties"]
