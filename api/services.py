"""What the routes work with, made once for each application."""

from dataclasses import dataclass

from starlette.requests import Request

from api.accounts.authentication import Authenticator
from api.alerts.deliveries import AlertDeliveries
from api.alerts.insight import AlertInsight
from api.alerts.service import Alerts
from api.analytics.service import Analytics
from api.api_keys.service import ApiKeys
from api.cameras.service import Cameras
from api.credits.service import Credits
from api.erasure.images import ErasedImageRemoval
from api.erasure.watch import ErasureWatch
from api.health import Health
from api.image_retention import ImageRetention
from api.image_store import ImageStore
from api.limits import RateLimiter
from api.live.service import LiveRecognitions
from api.recognitions.service import Recognitions
from api.recognize.service import ImageRecognition
from api.sessions.service import Sessions
from api.sweeper import Sweep, Sweeper
from api.validation import ValidationRules
from api.webhooks.deliveries import Deliveries
from api.webhooks.service import Webhooks
from contracts.outbound import IpNetwork


@dataclass(frozen=True)
class Services:
    """The application's own objects; each owns the adapters that it uses."""

    authenticator: Authenticator
    limiter: RateLimiter
    recognitions: Recognitions
    live: LiveRecognitions
    image_recognition: ImageRecognition
    credits: Credits
    cameras: Cameras
    alerts: Alerts
    alert_deliveries: AlertDeliveries
    alert_insight: AlertInsight
    api_keys: ApiKeys
    sessions: Sessions
    webhooks: Webhooks
    deliveries: Deliveries
    analytics: Analytics
    images: ImageStore
    image_retention: ImageRetention
    erasure_watch: ErasureWatch
    erased_images: ErasedImageRemoval
    health: Health
    rules: ValidationRules
    demo_enabled: bool
    trusted_proxies: tuple[IpNetwork, ...]

    def sweepers(self) -> tuple[Sweeper, ...]:
        """Return what does what is done again and again, each beside the others."""
        return (Sweeper(self._sweeps()), Sweeper((self.erasure_watch.sweep,)))

    def _sweeps(self) -> tuple[Sweep, ...]:
        return (
            self.cameras.sweep,
            self.cameras.renew,
            self.image_recognition.sweep,
            self.sessions.sweep,
            self.webhooks.sweep,
            self.erased_images.sweep,
            self.image_retention.sweep,
        )

    async def close(self) -> None:
        """Let what is under way in the background end."""
        await self.authenticator.close()
        await self.sessions.close()
        await self.alerts.close()
        await self.alert_insight.close()


def services_of(request: Request) -> Services:
    """Return the services of the application that handles ``request``."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
