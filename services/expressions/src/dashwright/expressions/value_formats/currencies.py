"""Amounts of money."""

import math
from typing import Final

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.numbers import fixed_text, grouped_text
from dashwright.expressions.value_formats.scales import count_letter


def amount(symbol: str, *, is_suffix: bool = False) -> ValueFormat:
    """Return the format of amounts in thousands (K) to trillions (T), such as *-$1.5K*."""

    def format_amount(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        scaled, letter = count_letter(value)
        sign = "-" if value < 0 else ""
        text = fixed_text(abs(scaled), decimals if math.isfinite(value) else None)
        return FormattedValue(text, sign, letter + symbol) if is_suffix else FormattedValue(text, sign + symbol, letter)

    return format_amount


def full_amount(symbol: str, *, is_suffix: bool = False) -> ValueFormat:
    """Return the format of amounts with all of their digits, such as *$1,500*."""

    def format_amount(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        text = grouped_text(value, 1) if decimals is None else grouped_text(value, decimals, decimals)
        return FormattedValue(text, suffix=symbol) if is_suffix else FormattedValue(text, prefix=symbol)

    return format_amount


def custom_amount(notation: str) -> ValueFormat:
    """Return the format of a symbol, or of ``financial:`` and a symbol, after which ``:suffix`` may follow."""
    kind, colon, rest = notation.partition(":")
    if not colon or kind != "financial":
        return amount(notation)
    symbol, _, position = rest.partition(":")
    return full_amount(symbol, is_suffix=position == "suffix")


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
