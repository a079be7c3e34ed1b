"""Values of settings that a type alone cannot check. Each raises ValueError that says what would
be right."""

from ipaddress import ip_network
from pathlib import Path


def networks(value: tuple[str, ...]) -> tuple[str, ...]:
    """Networks of IP addresses."""
    for network in value:
        try:
            ip_network(network)
        except ValueError:
            raise ValueError(f"`{network}` must be a network like 10.0.0.0/8") from None
    return value


def readable(value: str) -> str:
    """The path of a text file, or nothing."""
    if value:
        try:
            Path(value).read_text()
        except (OSError, ValueError) as error:
            raise ValueError(f"cannot be read: {type(error).__name__}") from None
    return value
