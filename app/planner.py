"""What is to be done with a request: the plan, with what it needs of catalogs and memory."""

from dataclasses import replace

from app.catalogs import Catalogs
from app.core.body import Malformed
from app.core.conversation import Conversation
from app.core.errors import ToolfoldError
from app.core.fold import Fold, fold
from app.core.mend import Mend
from app.core.plan import Plan, Relay, decide, observe, open_request, relayed
from app.core.policy import Policy
from app.core.shape import Shape
from app.learned import Learned
from app.memory import Memory
from app.rankers.rankers import Rankers
from app.telemetry import log_fault


class Planner:
    """Plans requests, each under its policy."""

    def __init__(self, catalogs: Catalogs, rankers: Rankers, learned: Learned) -> None:
        self._catalogs = catalogs
        self._rankers = rankers
        self._learned = learned

    async def plan(self, raw: bytes, policy: Policy, memory: Memory) -> tuple[Plan, Shape | None]:
        """What to do with the request. Whatever goes wrong in here is no reason to lose it,
        unless it may hold what is to be hidden."""
        try:
            body = open_request(raw, policy, self._catalogs.latest)
            if isinstance(body, Relay):
                return body, None
            tools = body.get("tools") or b"[]"
            shape = await self._catalogs.shape(tools, policy)
            if policy.mode == "observe" and shape.hides:
                policy = replace(policy, mode="off")
                shape = await self._catalogs.shape(tools, policy)
            decided = decide(body, policy, shape)
            if not isinstance(decided, str):
                return decided, shape
            conversation = Conversation.read(body.get("messages") or b"")
            traits = self._learned.of(body.value("model"))
            if policy.mode == "observe":
                return observe(fold(body, policy, shape, decided, conversation, {}, traits)), shape
            self._rankers.warm(shape, policy)
            records = await memory.recall(conversation.keys)
            return fold(body, policy, shape, decided, conversation, records, traits), shape
        except Malformed as malformed:
            return relayed(str(malformed), policy), None
        except ToolfoldError:
            raise
        except ValueError:  # a member that nobody can read: half a character, too many digits
            return relayed("not-json", policy), None
        except Exception as error:  # promise: a rewrite is never why a request is lost
            log_fault("plan_failed", error)
            return relayed("internal-error", policy), None

    def learn(self, folded: Fold, mend: Mend) -> None:
        """Take in what the turn of this request has taught of the upstream."""
        if mend.taken is not None:
            self._learned.learn(folded.body.value("model"), mend.taken)
