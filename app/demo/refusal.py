"""A refusal, and the wordings that OpenAI uses for several of them."""

from dataclasses import dataclass

from app.core.codec import Json


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not served, in the shape of an OpenAI error."""

    message: str
    param: str | None = None
    code: str | None = None
    type: str = "invalid_request_error"
    status: int = 400

    def body(self) -> Json:
        """The JSON body of the reply."""
        error = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return {"error": error}


def unknown(path: str) -> Refusal:
    """A key that the API does not know."""
    return Refusal(f"Unknown parameter: '{path}'.", path, "unknown_parameter")


def missing(path: str) -> Refusal:
    """A key that has to be there."""
    return Refusal(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def mistyped(path: str, *, expected: str) -> Refusal:
    """A value of another JSON type."""
    return Refusal(f"Invalid type for '{path}': expected {expected}.", path, "invalid_type")


def unsupported(path: str, value: object, *, supported: tuple[str, ...]) -> Refusal:
    """A word that is not one of the fixed ones."""
    choices = ", ".join(f"'{word}'" for word in supported)
    message = f"Invalid value: '{value}'. Supported values are: {choices}."
    return Refusal(message, path, "invalid_value")


def mismatched(path: str, *, pattern: str) -> Refusal:
    """A string with letters that its pattern does not admit."""
    message = (
        f"Invalid '{path}': string does not match pattern. "
        f"Expected a string that matches the pattern '{pattern}'."
    )
    return Refusal(message, path, "invalid_value")


def long_string(path: str, *, limit: int, length: int) -> Refusal:
    """A string above its limit."""
    message = (
        f"Invalid '{path}': string too long. Expected a string with maximum length {limit}, "
        f"but got a string with length {length} instead."
    )
    return Refusal(message, path, "string_above_max_length")


def long_array(path: str, *, limit: int, length: int) -> Refusal:
    """An array above its limit."""
    message = (
        f"Invalid '{path}': array too long. Expected an array with maximum length {limit}, "
        f"but got an array with length {length} instead."
    )
    return Refusal(message, path, "array_above_max_length")


def empty_array(path: str) -> Refusal:
    """An array that needs at least one element."""
    message = (
        f"Invalid '{path}': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead."
    )
    return Refusal(message, path, "empty_array")
