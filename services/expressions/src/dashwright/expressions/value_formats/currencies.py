"""Amounts of money."""

import math
from typing import Final

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.numbers import grouped_text
from dashwright.expressions.value_formats.scales import COUNT_SCALE, scaled, suffixed


def amount(symbol: str, *, is_suffix: bool = False) -> ValueFormat:
    """Return the format of amounts in thousands (K) to trillions (T), such as *-$1.5K*."""

    scale = scaled(1000, COUNT_SCALE)

    def format_amount(value: float, decimals: int | None, context: DateContext) -> FormattedValue:
        number = scale(abs(value), decimals, context)
        sign = "-" if value < 0 else ""
        if not is_suffix:
            return FormattedValue(number.text, sign + symbol, number.suffix)
        # As in Grafana, NaN and infinity have a symbol only before them.
        return FormattedValue(number.text, sign, number.suffix + symbol if math.isfinite(value) else "")

    return format_amount


def full_amount(symbol: str, *, is_suffix: bool = False) -> ValueFormat:
    """Return the format of amounts with all of their digits before the decimal point, such as *$1,500*."""

    def format_amount(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        # By default, Grafana shows at most one decimal.
        text = grouped_text(value, 1) if decimals is None else grouped_text(value, decimals, decimals)
        return FormattedValue(text, suffix=symbol) if is_suffix else FormattedValue(text, prefix=symbol)

    return format_amount


def custom_amount(notation: str) -> ValueFormat:
    """Return the format of a symbol, or of ``financial:`` and a symbol, after which ``:suffix`` may follow.

    As in Grafana, ``financial:`` without a symbol is the format of numbers without a unit.
    """
    kind, colon, suffixed_symbol = notation.partition(":")
    if not colon or kind != "financial":
        return amount(notation)
    symbol, *options = suffixed_symbol.split(":")
    return full_amount(symbol, is_suffix=options[:1] == ["suffix"]) if symbol else suffixed("")


#: The formats of amounts by the id of their unit. The symbols are those that Grafana shows.
CURRENCIES: Final[dict[str, ValueFormat]] = {
    **{
        f"currency{code}": amount(symbol)
        for code, symbol in {
            "USD": "$",
            "GBP": "£",
            "EUR": "€",
            "JPY": "¥",
            "RUB": "₽",
            "UAH": "₴",
            "BRL": "R$",
            "CZK": "czk",
            "CHF": "CHF",
            "PLN": "PLN",
            "BTC": "฿",
            "mBTC": "mBTC",
            "μBTC": "μBTC",
            "ZAR": "R",
            "INR": "₹",
            "KRW": "₩",
            "IDR": "Rp",
            "PHP": "PHP",
            "MYR": "RM",
            "XPF": "XPF",
            "BGN": "BGN",
            "PYG": "₲",
            "UYU": "UYU",
            "ILS": "₪",
        }.items()
    },
    **{
        f"currency{code}": amount(symbol, is_suffix=True)
        for code, symbol in {"DKK": "kr", "ISK": "kr", "NOK": "kr", "SEK": "kr", "VND": "đ", "TRY": "₺"}.items()
    },
}
