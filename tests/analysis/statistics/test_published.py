"""Published results and their protocols."""

from __future__ import annotations

from core.analysis.statistics import HUMAN, RANDOM, published_rows


def test_random_and_human_come_first_then_models_by_progress():
    rows = published_rows()
    assert [row.entry for row in rows[:2]] == [RANDOM, HUMAN]
    progress = [row.progress for row in rows[2:]]
    assert progress == sorted(progress, reverse=True)
    assert all(row.is_of_a_model for row in rows[2:])


def test_labels_are_short_and_unique():
    rows = published_rows()
    assert len({row.label for row in rows}) == len(rows)
    assert all(len(row.label) <= 60 for row in rows)
    labels = {row.entry: row.label for row in rows}
    assert labels[RANDOM] == "Random policy"
    assert labels["LLM/20250713_naive_grok-4"] == "grok-4 (LLM, 2025-07)"
    assert labels["LLM/20240410_robust_cot_DeepSeek-R1"] == "DeepSeek-R1 (LLM, 2024-04)"


def test_every_protocol_states_its_episodes_and_its_step_limit():
    for row in published_rows():
        assert f"{row.episodes:,} episodes" in row.protocol
        assert ("2,000 steps" if row.is_of_a_model else "10,000 steps") in row.protocol
    protocols = {row.entry: row.protocol for row in published_rows()}
    assert "5.0 million steps" in protocols[RANDOM]
    assert "agent robust_cot" in protocols["LLM/20240410_robust_cot_DeepSeek-R1"]
    assert "picture" in protocols["VLM/20241103_Claude-3.5-Sonnet"]


def test_unpublished_numbers_are_none_and_not_zero():
    row = next(row for row in published_rows() if row.entry == "VLM/20240924_naive-Gemini-1.5-Pro")
    assert (row.score, row.success, row.mean_return) == (None, None, None)
    assert row.progress == 0.335
