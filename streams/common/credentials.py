"""What Faust needs to be let in by Kafka."""

from typing import Any

import faust
from faust.types.auth import CredentialsT

from contracts.kafka_security import security_options
from contracts.settings import KafkaSettings


def broker_credentials(settings: KafkaSettings) -> CredentialsT | None:
    """Return what Faust's consumer and producer, and its topics' maker, connect with.

    None means in the clear, without a login.

    Raises:
        MisconfiguredError: a certificate file can no longer be used.
    """
    options: dict[str, Any] = security_options(settings)
    context = options.get("ssl_context")
    if settings.kafka_security_protocol.has_login:
        return faust.SASLCredentials(
            mechanism=options["sasl_mechanism"],
            username=options["sasl_plain_username"],
            password=options["sasl_plain_password"],
            ssl_context=context,
        )
    return None if context is None else faust.SSLCredentials(context)
