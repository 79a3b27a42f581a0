"""What a call cost, by the price table that comes with `genai-prices`: offline, and named in what is stored."""

from __future__ import annotations

from importlib.metadata import version

from genai_prices import Usage, calc_price

PRICE_VERSION = f"genai-prices {version('genai-prices')}"


def cost_usd(
    *, base_url: str, model: str, tokens_in: int | None, tokens_out: int | None, tokens_cached: int | None
) -> float | None:
    """US dollars; None where the model's price or the tokens are not known. Never 0 for want of a price."""
    if tokens_in is None or tokens_out is None:
        return None
    usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_read_tokens=tokens_cached or None)
    try:
        return float(calc_price(usage, model_ref=model, provider_api_url=base_url).total_price)
    except (LookupError, ValueError):
        return None
