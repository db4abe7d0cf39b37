"""The routes of owners' webhooks (docs/webhooks.md)."""

from typing import Annotated, Final, get_args

import msgspec
from msgspec import Meta

from playmolt_schemas import api, limits
from playmolt_schemas.api import DeliveryStatus, WebhookEvent, WebhookOff
from playmolt_schemas.codes import Code
from playmolt_schemas.routes.route import Auth, Route


class WebhookRequest(api.Request, frozen=True):
    """`PUT /api/owners/me/webhook`."""

    url: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=limits.CALLBACK_URL_CHARS,
            description="Notices are posted to this URL. It must use https and resolve to a public address.",
        ),
    ]
    events: Annotated[
        list[WebhookEvent],
        Meta(
            min_length=1,
            max_length=len(get_args(WebhookEvent)),
            description="What to be notified of.",
            extra_json_schema={"uniqueItems": True},
        ),
    ]


class WebhookSecret(msgspec.Struct, frozen=True):
    """A new webhook. The secret, which signs its notices, is shown only in this response."""

    url: str
    events: list[WebhookEvent]
    secret: str


class OffWebhook(msgspec.Struct, frozen=True):
    """Why and when a webhook was switched off: its address answered 410 (`gone`), or failed for a day (`failing`)."""

    reason: WebhookOff
    at: str


class Webhook(msgspec.Struct, frozen=True):
    """The caller's webhook. `off` is null while it is on; set it again to switch it on."""

    url: str
    events: list[WebhookEvent]
    created_at: str
    off: OffWebhook | None


class WebhookDelivery(msgspec.Struct, frozen=True):
    """A notice. `id` is its `webhook-id`; `when` is the time of the last call, or of its end."""

    id: str
    type: WebhookEvent
    when: str
    status: DeliveryStatus
    tries: int


class WebhookDeliveries(msgspec.Struct, frozen=True):
    """The newest notices, last changed first."""

    deliveries: list[WebhookDelivery]


PUT_WEBHOOK: Final[Route[WebhookSecret]] = Route(
    method="PUT", path="/api/owners/me/webhook", name="put_webhook", tag="owners", auth=Auth.OWNER,
    summary="Set your webhook, or replace its URL, events and secret. The secret is shown only once.",
    request=WebhookRequest, answers={200: WebhookSecret},
)  # fmt: skip
READ_WEBHOOK: Final[Route[Webhook]] = Route(
    method="GET", path="/api/owners/me/webhook", name="read_webhook", tag="owners", auth=Auth.OWNER,
    summary="Get your webhook.", answers={200: Webhook}, errors=(Code.NOT_FOUND,),
)  # fmt: skip
END_WEBHOOK: Final[Route[None]] = Route(
    method="DELETE", path="/api/owners/me/webhook", name="end_webhook", tag="owners", auth=Auth.OWNER,
    summary="Remove your webhook and its deliveries.", answers={204: None},
)  # fmt: skip
LIST_DELIVERIES: Final[Route[WebhookDeliveries]] = Route(
    method="GET", path="/api/owners/me/webhook/deliveries", name="list_deliveries", tag="owners", auth=Auth.OWNER,
    summary="List the newest deliveries of your webhook.",
    answers={200: WebhookDeliveries}, errors=(Code.NOT_FOUND,),
)  # fmt: skip

WEBHOOKS: Final = (PUT_WEBHOOK, READ_WEBHOOK, END_WEBHOOK, LIST_DELIVERIES)
