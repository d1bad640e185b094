"""Notifies people through the notification services of Apprise URLs.

Apprise's plugins run in threads. Each request of a plugin is sent like a webhook, by
:class:`HttpSender`, which checks every address to which it connects and follows no redirects.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace

from common.apprise.services import (
    NoAnswerError,
    NotificationMessage,
    ServiceAnswer,
    ServiceRequest,
)
from common.errors import InvalidInputError
from common.mail.rate_limit import HourlyLimits
from common.records.deliveries import Delivery
from streams.webhooks.delivery.crops import FetchImage, crop_of
from streams.webhooks.delivery.http_sender import HttpSender, ReceiverAnswer, SignedRequest
from streams.webhooks.delivery.message_text import message_fields, message_subject
from streams.webhooks.delivery.schedule import SendKind, SendResult

# The title contains the alert. Descriptions are too long for services that limit characters.
_LEFT_OUT = frozenset({"Alert", "Description"})
_PARTS_REFUSED = frozenset(range(400, 500)) - {408, 425, 429}


class AppriseSender:
    """Sends notifications through services. Apprise is imported at the first attempt."""

    def __init__(
        self,
        http: HttpSender,
        fetch_image: FetchImage,
        limits: HourlyLimits,
        *,
        public_url: str,
        timeout_seconds: float,
        threads: int,
        now_ms: Callable[[], int],
    ) -> None:
        """``timeout_seconds`` applies to a whole attempt, excluding reading the image.

        Links lead to ``public_url``. If this is empty, no links are sent. ``threads`` is the number
        of concurrent attempts, so that no attempt waits for a hanging attempt.
        """
        self._http = http
        self._fetch_image = fetch_image
        self._limits = limits
        self._public_url = public_url
        self._timeout_seconds = timeout_seconds
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="apprise")
        self._now_ms = now_ms

    async def send(self, delivery: Delivery, url: str) -> SendResult:
        """Send once, unless a limit is reached. Return the result; service errors never raise."""
        owner = str(delivery.owner_id)
        if (denial := self._limits.denial(owner, url)) is not None:
            kind = SendKind.REFUSED if denial.is_final else SendKind.FAILED
            return SendResult(kind=kind, error=denial.sentence, is_held_back=denial.is_final)
        with self._limits.sending(owner, url) as allowed:
            result = await self._attempt(url, await self._message(delivery, allowed.warning))
        if result.kind is SendKind.ACCEPTED:
            allowed.accepted()
        return result

    async def _message(self, delivery: Delivery, warning: str | None) -> NotificationMessage:
        return NotificationMessage(
            title=message_subject(delivery),
            text="\n".join(
                f"{name}: {value}"
                for name, value in message_fields(delivery, self._public_url, warning)
                if name not in _LEFT_OUT
            ),
            picture=await crop_of(delivery, self._fetch_image, self._now_ms()),
        )

    async def _attempt(self, url: str, message: NotificationMessage) -> SendResult:
        loop = asyncio.get_running_loop()
        attempt = _Attempt(self._http, loop)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await loop.run_in_executor(self._threads, attempt.make, url, message)
        except TimeoutError:
            sentence = f"No response within {self._timeout_seconds:g} s."
            return SendResult(kind=SendKind.FAILED, error=sentence)
        finally:
            attempt.stop()

    def close(self) -> None:
        """Cancel queued attempts. Running attempts finish in the background."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Attempt:
    """One attempt to notify. The plugin runs in a thread, the requests on the event loop."""

    def __init__(self, http: HttpSender, loop: asyncio.AbstractEventLoop) -> None:
        self._http = http
        self._loop = loop
        self._results: list[SendResult] = []
        self._running: Future[tuple[SendResult, ReceiverAnswer | None]] | None = None
        self._is_stopped = False

    def make(self, url: str, message: NotificationMessage) -> SendResult:
        """Send with the plugin and return the result. Call this in a thread."""
        from common.apprise.plugins import send_message

        try:
            is_sent = send_message(url, message, self._exchange)
        except InvalidInputError as error:
            return SendResult(kind=SendKind.REFUSED, error=f"The URL {error}.")
        return _result(self._results, is_sent=is_sent)

    def stop(self) -> None:
        """Cancel the running request, which ends the thread."""
        self._is_stopped = True
        if self._running is not None:
            self._running.cancel()

    def _exchange(self, request: ServiceRequest) -> ServiceAnswer:
        signed = SignedRequest(
            request.url,
            # The response is not decompressed, so request an uncompressed response.
            {**request.headers, "Accept-Encoding": "identity"},
            request.body,
            request.method,
        )
        made = self._http.exchange(signed)
        if self._is_stopped:
            made.close()
            raise NoAnswerError
        self._running = asyncio.run_coroutine_threadsafe(made, self._loop)
        if self._is_stopped:
            self._running.cancel()
        try:
            result, answer = self._running.result()
        except CancelledError as error:
            raise NoAnswerError from error
        self._results.append(result)
        if answer is None or result.status is None:
            raise NoAnswerError
        return ServiceAnswer(result.status, answer.headers, answer.body)


def _result(results: list[SendResult], *, is_sent: bool) -> SendResult:
    """Return the result of an attempt: the plugin's result or, after a failure, the HTTP result."""
    last = results[-1] if results else SendResult(kind=SendKind.FAILED)
    if is_sent:
        return SendResult(kind=SendKind.ACCEPTED, status=last.status)
    failed = next((each for each in results if each.kind is not SendKind.ACCEPTED), None)
    if failed is not None:
        return _once(failed, results)
    said = f"responded with {last.status}, but" if last.status else "was not contacted, because"
    sentence = f"The notification service {said} the message was not accepted."
    return SendResult(kind=SendKind.FAILED, status=last.status, error=sentence)


def _once(failed: SendResult, results: list[SendResult]) -> SendResult:
    """Return a failure, which is final if the service accepted only a part of the message.

    The service would reject a crop that is too large again, and each retry would repeat the text.
    """
    is_partial = any(each.kind is SendKind.ACCEPTED for each in results)
    is_answer = failed.status is not None and failed.status in _PARTS_REFUSED
    return replace(failed, kind=SendKind.REFUSED) if is_partial and is_answer else failed
