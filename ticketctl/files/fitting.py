"""Changes texts of another system to fit the bounds of a create-ticket message."""

import re
from typing import Any, Final

from ticket_numbering.contract.field_types import FORBIDDEN_CHARACTERS, NOT_ONE_LINE
from ticket_numbering.contract.messages import MAX_BODY_BYTES, CreateTicket, RequestKey
from ticketctl.aws.request_fields import Fields, body_of

_BOUNDS: Final = CreateTicket.model_json_schema()["properties"]
_ROOM: Final = {name: "x" * _BOUNDS[name]["maxLength"] for name in RequestKey._fields}
"""The longest project and key, because a request without them may get them."""
_BREAK: Final = re.compile("\r\n|[\t\n\v\f\r\x85\u2028\u2029]")
_REPLACEMENT: Final = "\ufffd"


def fitted(fields: Fields) -> Fields:
    """Return the fields with texts that fit; ids, numbers and names are unchanged.

    A forbidden character becomes U+FFFD, and a line break or tab in a one-line text a
    blank; texts and lists are cut, and the description also by its bytes. A missing or
    blank title becomes U+FFFD.
    """
    changed = {
        name: _fitted(value, _BOUNDS.get(name, {}))
        for name, value in ({"title": ""} | fields).items()
    }
    text = changed.get("description")
    body = body_of(_ROOM | changed)
    over = len(body.encode(errors="surrogatepass")) - MAX_BODY_BYTES
    if over > 0 and isinstance(text, str):
        kept = text.encode()[: max(0, len(text.encode()) - over)]
        changed["description"] = kept.decode(errors="ignore")
    return changed


def _fitted(value: Any, schema: dict[str, Any]) -> Any:
    bounds = schema.get("anyOf", [schema])[0]
    if isinstance(value, list) and "items" in bounds:
        kept = value[: bounds["maxItems"]]
        return [_fitted(item, bounds["items"]) for item in kept]
    if isinstance(value, dict) and "additionalProperties" in bounds:
        of_values = bounds["additionalProperties"]
        return {name: _fitted(item, of_values) for name, item in value.items()}
    is_text = isinstance(value, str) and "not" in bounds and "pattern" not in bounds
    return _fitted_text(value, bounds) if is_text else value


def _fitted_text(text: str, bounds: dict[str, Any]) -> str:
    if bounds["not"] == NOT_ONE_LINE:
        text = _BREAK.sub(" ", text)
    text = text[: bounds["maxLength"]]
    for forbidden in (bounds["not"]["pattern"], FORBIDDEN_CHARACTERS):
        text = re.sub(forbidden, _REPLACEMENT, text)
    return text
