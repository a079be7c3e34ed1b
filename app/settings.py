"""What the environment says: every `TOOLFOLD_*` variable, checked, all problems at once."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.core.policy import MOST_HITS, Mode, Place, Policy, Strategy
from app.core.traits import PROFILES, Profile, Traits, profile_of

Patterns = Annotated[tuple[str, ...], NoDecode]
"""Written with commas: `ask_*,family:github`."""


class Settings(BaseSettings):
    """Each field is an environment variable `TOOLFOLD_NAME` and a flag of `toolfold serve`."""

    model_config = SettingsConfigDict(env_prefix="TOOLFOLD_", extra="ignore", frozen=True)

    upstream_base_url: str = Field(
        default="https://api.openai.com/v1",
        description="The API to send requests to, as a base URL.",
    )
    upstream_profile: Literal["auto", Profile] = Field(
        default="auto", description="What is known of that API; auto goes by its host."
    )
    host: str = Field(default="127.0.0.1", description="Address that apps connect to.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port that apps connect to.")
    admin_host: str = Field(default="127.0.0.1", description="Address of the admin port.")
    admin_port: int = Field(
        default=9090, ge=0, le=65535, description="Port of health and readiness."
    )
    mode: Mode = Field(
        default="auto", description="Fold when it pays (auto), always (on), never (off)."
    )
    strategy: Strategy = Field(
        default="promote", description="How found tools become callable: promote, wrap, native."
    )
    direct: Patterns = Field(default=(), description="Tools always declared: globs or family:NAME.")
    deferred: Patterns = Field(default=(), description="Tools not declared, but found by search.")
    hidden: Patterns = Field(default=(), description="Tools that no model may see or call.")
    min_tokens: int = Field(
        default=2_000, ge=0, description="auto: fold from this many tool tokens on."
    )
    min_saving: float = Field(
        default=0.4, ge=0, le=1, description="auto: least share of them saved."
    )
    max_tools: int = Field(default=128, ge=1, description="Most tools the upstream takes.")
    limit: int = Field(default=5, ge=1, le=MOST_HITS, description="Tools that one query loads.")
    max_searches: int = Field(default=5, ge=1, description="Searches in one request of the app.")
    manifest_tokens: int = Field(
        default=4_000, ge=0, description="Token budget of the list of tools."
    )
    manifest_place: Place = Field(
        default="auto", description="Where the list stands: auto or system."
    )
    result_tokens: int = Field(
        default=4_000, ge=1, description="Token budget of one search's result."
    )
    store: Literal["memory", "redis", "none"] = Field(
        default="memory", description="Where turns are remembered."
    )
    redis_url: str = Field(
        default="redis://127.0.0.1:6379/0", description="The server of the store redis."
    )
    redis_timeout: float = Field(
        default=0.2, gt=0, description="Seconds that a request waits for redis."
    )
    store_mb: int = Field(default=64, ge=1, description="Memory for remembered turns, in MB.")
    store_entries: int = Field(default=100_000, ge=1, description="Most turns remembered.")
    store_ttl: float = Field(
        default=86_400, gt=0, description="Seconds for which a turn is remembered."
    )
    catalog_cache_mb: int = Field(
        default=256, ge=1, description="Memory for compiled catalogs, in MB."
    )
    connect_timeout: float = Field(default=5, gt=0, description="Seconds to reach the upstream.")
    read_timeout: float = Field(
        default=600, gt=0, description="Seconds the upstream may be silent."
    )
    max_connections: int = Field(default=1_000, ge=1, description="Connections to the upstream.")
    head_after: float = Field(
        default=3,
        ge=0,
        description="Seconds after which a stream begins though its rounds are hidden.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log line that is written."
    )

    @field_validator("direct", "deferred", "hidden", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("upstream_base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be a URL like https://api.openai.com/v1")
        if parts.query or parts.fragment or parts.username:
            raise ValueError("must not hold a query, a fragment or credentials")
        return value.rstrip("/")

    def traits(self) -> Traits:
        """What is known of the upstream."""
        host = urlsplit(self.upstream_base_url).hostname or ""
        named = self.upstream_profile
        return PROFILES[profile_of(host) if named == "auto" else named]

    def policy(self) -> Policy:
        """The policy that these settings make."""
        return Policy(**{name: getattr(self, name) for name in Policy.__dataclass_fields__})
