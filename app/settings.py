"""What the environment says: every `TOOLFOLD_*` variable, checked, all problems at once."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from app.checks import networks, readable
from app.core.policy import (
    FIELDS,
    Dialect,
    Exposure,
    Mode,
    Place,
    Policy,
    RankerMode,
    RankerName,
    RemoteName,
    Strategy,
)
from app.core.schema.budget import SchemaBudget, read_schema_budget
from app.core.schema.profiles import Profile
from app.core.traits import PROFILES, Traits, UpstreamProfile, profile_of

Words = Annotated[tuple[str, ...], NoDecode]
"""Written with commas: `ask_*,family:github`."""
Networks = Annotated[Words, AfterValidator(networks)]
Readable = Annotated[str, AfterValidator(readable)]


def knob(name: str) -> Any:
    """The setting of a policy's field of this name."""
    field = FIELDS[name]
    least, most = field.knob.least, field.knob.most
    return Field(default=field.default, description=field.knob.says, ge=least, le=most)


class Settings(BaseSettings):
    """Each field is an environment variable `TOOLFOLD_NAME` and a flag of `toolfold serve`."""

    model_config = SettingsConfigDict(env_prefix="TOOLFOLD_", extra="ignore", frozen=True)

    upstream_base_url: str = Field(
        default="https://api.openai.com/v1",
        description="The API to send requests to, as a base URL.",
    )
    upstream_profile: Literal["auto", UpstreamProfile] = Field(
        default="auto",
        description="What is known of that API: auto (by its host), or a profile of upstreams.md.",
    )
    host: str = Field(default="127.0.0.1", description="Address that apps connect to.")
    port: int = Field(default=8080, ge=0, le=65535, description="Port that apps connect to.")
    admin_host: str = Field(default="127.0.0.1", description="Address of the admin port.")
    admin_port: int = Field(
        default=9090, ge=0, le=65535, description="Port of health and readiness."
    )
    insecure: bool = Field(
        default=False, description="Let anybody in on an address that is not loopback."
    )
    upstream_key: SecretStr = Field(
        default=SecretStr(""), description="The key sent upstream, in the place of the client's."
    )
    upstream_key_file: Readable = Field(default="", description="A file that holds that key.")
    trusted_peers: Networks = Field(
        default=("127.0.0.0/8", "::1/128"),
        description="Networks whose X-Toolfold headers are obeyed.",
    )
    strict_headers: bool = Field(
        default=False, description="Refuse these headers from others, instead of ignoring them."
    )
    policy_file: str = Field(default="", description="A YAML file of policies and tenants.")
    mode: Mode = knob("mode")
    strategy: Strategy = knob("strategy")
    default_exposure: Exposure = knob("default_exposure")
    direct: Words = knob("direct")
    deferred: Words = knob("deferred")
    hidden: Words = knob("hidden")
    admit_bridge: bool = knob("admit_bridge")
    min_tokens: int = knob("min_tokens")
    min_saving: float = knob("min_saving")
    max_tools: int = knob("max_tools")
    limit: int = knob("limit")
    max_searches: int = knob("max_searches")
    manifest_tokens: int = knob("manifest_tokens")
    manifest_place: Place = knob("manifest_place")
    result_tokens: int = knob("result_tokens")
    schema_budget: SchemaBudget = knob("schema_budget")
    schema_profile: Profile = knob("schema_profile")
    ranker: RankerName = knob("ranker")
    ranker_mode: RankerMode = knob("ranker_mode")
    dialect: Dialect = knob("dialect")
    recover: bool = knob("recover")
    capture: bool = knob("capture")
    ranker_url: str = Field(
        default="",
        description="Base URL of /embeddings or /rerank; for http the URL itself.",
    )
    ranker_model: str = Field(
        default="", description="Model that the ranker's endpoint is asked for."
    )
    ranker_key: SecretStr = Field(
        default=SecretStr(""), description="Sent to the ranker's endpoint as a bearer token."
    )
    ranker_timeout: float = Field(
        default=1, gt=0, description="Seconds a search waits for the ranker's endpoint."
    )
    ranker_cache_mb: int = Field(
        default=64, ge=1, description="Memory for the embeddings of tools, in MB."
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
    first_byte_timeout: float = Field(
        default=600, gt=0, description="Seconds until the upstream's reply begins."
    )
    read_timeout: float = Field(
        default=600, gt=0, description="Seconds the upstream may be silent in a reply."
    )
    total_timeout: float = Field(
        default=3_600, gt=0, description="Seconds that all of one request may take."
    )
    max_connections: int = Field(default=1_000, ge=1, description="Connections to the upstream.")
    head_after: float = Field(
        default=3,
        ge=0,
        description="Seconds after which a stream begins though its rounds are hidden.",
    )
    comment_after: float = Field(
        default=0,
        ge=0,
        description="Seconds of silence behind which a stream gets a comment; 0 for never.",
    )
    max_inflight: int = Field(
        default=1_000, ge=1, description="Requests served at a time; others get a 503."
    )
    inflight_mb: int = Field(
        default=512, ge=1, description="Bodies held for them, in MB; each byte costs about four."
    )
    body_mb: int = Field(
        default=16, ge=1, description="Largest body of a chat request, in MB; others stream."
    )
    header_timeout: float = Field(
        default=10, gt=0, description="Seconds for a request's headers, from the connect on."
    )
    body_timeout: float = Field(
        default=60, gt=0, description="Seconds for its body, and one more for each 64 KB."
    )
    send_timeout: float = Field(
        default=60, gt=0, description="Seconds for which a client may read nothing."
    )
    keep_alive: int = Field(
        default=75, ge=1, description="Seconds that an idle connection of a client stays open."
    )
    drain_delay: float = Field(
        default=5,
        ge=0,
        description="Seconds from SIGTERM, with /readyz at 503, to the last accept.",
    )
    grace: int = Field(
        default=60, ge=0, description="Seconds for the running requests behind that."
    )
    otlp_endpoint: str = Field(
        default="",
        description="Collector to send spans to (base URL); OTEL_EXPORTER_OTLP_ENDPOINT works too.",
    )
    metrics_tenants: int = Field(
        default=100, ge=0, description="Most tenants that metrics tell apart, some 25 KB each."
    )
    metrics_models: int = Field(
        default=50, ge=1, description="Most models that metrics tell apart, some 20 KB each."
    )
    alarm_after: int = Field(
        default=100, ge=1, description="Requests with tools, none folded, that are an alarm."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least severe log line that is written."
    )

    @field_validator("direct", "deferred", "hidden", "trusted_peers", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("schema_budget", mode="before")
    @classmethod
    def _budget(cls, value: object) -> SchemaBudget:
        return read_schema_budget(str(value))

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

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *args: Any, **sources: PydanticBaseSettingsSource
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Also `OTEL_EXPORTER_OTLP_ENDPOINT`, which is there wherever spans are collected."""
        standard = EnvSettingsSource(settings_cls, env_prefix="OTEL_EXPORTER_")
        own = super().settings_customise_sources(settings_cls, *args, **sources)
        return (*own, standard)

    @field_validator("ranker_url", "otlp_endpoint")
    @classmethod
    def _is_url_if_any(cls, value: str) -> str:
        return cls._is_url(value) if value else value

    @model_validator(mode="after")
    def _has_ranker_url(self) -> Self:
        if self.ranker in get_args(RemoteName) and not self.ranker_url:
            raise ValueError(f"`{self.ranker}` needs `ranker_url`, the endpoint to ask")
        return self

    @model_validator(mode="after")
    def _one_key(self) -> "Settings":
        key = self.operators_key
        if self.upstream_key.get_secret_value() and self.upstream_key_file:
            raise ValueError("upstream_key and upstream_key_file: set one of the two")
        if self.upstream_key_file and not key:
            raise ValueError("upstream_key_file: the file is empty")
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("upstream_key: must be visible ASCII characters")
        return self

    @property
    def operators_key(self) -> str:
        """The key sent upstream, "" where that is the client's own."""
        if self.upstream_key_file:
            return Path(self.upstream_key_file).read_text().strip()
        return self.upstream_key.get_secret_value().strip()

    def origins(self) -> dict[str, str]:
        """Where each value of the policy comes from."""
        return {
            name: f"setting TOOLFOLD_{name.upper()}" if name in self.model_fields_set else "default"
            for name in FIELDS
        }

    def policy(self) -> Policy:
        """The policy that these settings make."""
        return Policy(**{name: getattr(self, name) for name in FIELDS})


def strangers() -> list[str]:
    """Variables that look like settings and are none: misspelt, or of another version."""
    prefix = Settings.model_config["env_prefix"]
    known = {prefix + name.upper() for name in Settings.model_fields}
    return sorted(
        name for name in os.environ if name.upper().startswith(prefix) and name.upper() not in known
    )
